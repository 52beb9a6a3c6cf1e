"""Random histories of a queue, checked against a model that knows every message by itself.

Standard queues, fair ones and FIFO ones; with time that passes, noticed or not, and with
restarts: from a snapshot of this moment, and from an old one with all that was logged since.
"""

from array import array
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from duolog.core.queues.delivery import Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.records.changes import (
    Change,
    Deleted,
    Delivered,
    Replayed,
    Trimmed,
    VisibilityChanged,
    decode_changes,
    encode_change,
)
from duolog.records.delivery_image import decode_image, from_column, to_column

START_MS = 1_000_000
RETENTION_MS = 60_000
GROUPS = [b"a", b"b", b"c"]
EXAMPLES = 40
STEPS = 40

counts = st.integers(1, 10)
durations_ms = st.sampled_from([0, 1, 500, 1_000, 5_000, 30_000, 90_000])


@dataclass
class Message:
    sent_ms: int
    due_ms: int
    group: bytes | None
    is_done: bool = False
    receive_count: int = 0
    deadline_ms: int = 0
    first_received_ms: int = 0


class Model:
    """All messages that ever were, and what SQS promises of them."""

    def __init__(self, rules: DeliveryRules) -> None:
        self.rules = rules
        self.messages: dict[int, Message] = {}
        self.now_ms = START_MS

    def state(self, message: Message) -> str:
        if message.is_done:
            return "done"
        if message.receive_count == 0:
            return "delayed" if message.due_ms > self.now_ms else "ready"
        if message.deadline_ms > self.now_ms:
            return "in_flight"
        most = self.rules.receive_count_max
        return "dead" if most is not None and message.receive_count >= most else "ready"

    def offsets(self, *states: str) -> list[int]:
        return [at for at, message in self.messages.items() if self.state(message) in states]

    def room(self) -> int:
        return self.rules.in_flight_max - len(self.offsets("in_flight", "dead"))

    def next_deadline_ms(self) -> int | None:
        times_ms = [self.messages[at].deadline_ms for at in self.offsets("in_flight")]
        times_ms += [self.messages[at].due_ms for at in self.offsets("delayed")]
        return min(times_ms, default=None)

    def fifo_choice(self, count: int) -> list[int]:
        lanes: dict[bytes, list[int]] = {}
        locked = set()
        for at in self.offsets("ready", "delayed", "in_flight"):
            group = self.messages[at].group or b""
            if self.state(self.messages[at]) == "in_flight":
                locked.add(group)
            else:
                lanes.setdefault(group, []).append(at)
        choice: list[int] = []
        for group, lane in sorted(lanes.items(), key=lambda item: min(item[1])):
            for at in sorted(lane) if group not in locked else ():
                if self.state(self.messages[at]) == "delayed":
                    break
                choice.append(at)
        return choice[: max(min(count, self.room()), 0)]


class QueueMachine(RuleBasedStateMachine):
    fifo = False
    groups: list[bytes | None] = [None]

    @initialize(in_flight_max=st.sampled_from([6, 1_000]))
    def start(self, in_flight_max: int) -> None:
        rules = DeliveryRules(
            fifo=self.fifo,
            retention_ms=RETENTION_MS,
            in_flight_max=in_flight_max,
            receive_count_max=None,
        )
        self.model = Model(rules)
        self.delivery = Delivery(rules)
        self.noticed = True
        self.checkpoint()

    def apply(self, change: Change) -> None:
        self.changes.append(change)
        self.delivery.apply(change)

    @rule(count=st.integers(1, 30), delay_ms=durations_ms)
    def send_many(self, count: int, delay_ms: int) -> None:
        model, first = self.model, self.delivery.end_offset
        due_ms = model.now_ms + delay_ms
        self.delivery.enqueue_range(first, first + count, model.now_ms, due_ms)
        for at in range(first, first + count):
            model.messages[at] = Message(model.now_ms, due_ms, None)

    @rule(data=st.data(), count=st.integers(1, 10), gap=st.sampled_from([0, 0, 0, 2]))
    def send(self, data: st.DataObject, count: int, gap: int) -> None:
        model, first = self.model, self.delivery.end_offset + gap
        for at in range(first, first + count):
            group = data.draw(st.sampled_from(self.groups))
            due_ms = model.now_ms + data.draw(st.sampled_from([0, 0, 0, 1_000, 5_000]))
            self.delivery.enqueue(at, model.now_ms, group=group, due_ms=due_ms)
            model.messages[at] = Message(model.now_ms, due_ms, group)

    @rule(count=counts, hidden_ms=durations_ms, attempt=st.sampled_from([b"", b"", b"try"]))
    def receive(self, count: int, hidden_ms: int, attempt: bytes) -> None:
        self.take(count, hidden_ms, attempt)

    def take(self, count: int, hidden_ms: int, attempt: bytes) -> list[int]:
        model = self.model
        offsets = self.delivery.choose(count, model.now_ms)
        chosen = list(offsets)
        self.noticed = True
        assert offsets == self.delivery.choose(count, model.now_ms)
        self.check_choice(chosen, count)
        if not chosen:
            return []
        self.apply(Delivered(offsets, model.now_ms, model.now_ms + hidden_ms, attempt))
        for at in chosen:
            message = model.messages[at]
            if message.receive_count == 0:
                message.first_received_ms = model.now_ms
            message.receive_count += 1
            message.deadline_ms = model.now_ms + hidden_ms
        if attempt and hidden_ms:
            assert self.delivery.find_attempt(attempt, model.now_ms) == tuple(chosen)
        return chosen

    @rule(
        rounds=st.lists(
            st.tuples(counts, st.lists(st.sampled_from(["delete", "fail", "hide", "forget"]))),
            min_size=1,
            max_size=5,
        ),
        passed_ms=durations_ms,
    )
    def work(self, rounds: list[tuple[int, list[str]]], passed_ms: int) -> None:
        """A consumer receives several times, and settles what it gets one way or another."""
        for count, ends in rounds:
            chosen = self.take(count, 5_000, b"")
            for at, end in zip(chosen, ends, strict=False):
                if end == "delete":
                    self.finish([at])
                elif end != "forget":
                    self.put_off(at, 0 if end == "fail" else 20_000)
            self.pass_time(min(passed_ms, 2_000), True)

    def check_choice(self, chosen: list[int], count: int) -> None:
        model = self.model
        ready = model.offsets("ready")
        assert set(chosen) <= set(ready)
        assert len(chosen) == len(set(chosen)) == max(min(count, len(ready), model.room()), 0)
        fresh = {at for at in ready if model.messages[at].receive_count == 0}
        for group in {model.messages[at].group for at in chosen}:
            lane = [at for at in sorted(fresh) if model.messages[at].group == group]
            taken = [at for at in chosen if at in fresh and model.messages[at].group == group]
            assert taken == lane[: len(taken)], "the oldest of a group go first"
        if self.groups == [None]:
            returned = set(ready) - fresh
            assert len(fresh & set(chosen)) >= min(len(fresh), len(chosen) // 2)
            assert len(returned & set(chosen)) >= min(len(returned), len(chosen) // 2)

    @precondition(lambda self: self.model.messages)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        known = st.sampled_from(sorted(self.model.messages))
        received = self.model.offsets("in_flight") or sorted(self.model.messages)
        usual = st.lists(st.sampled_from(received), min_size=1, max_size=10, unique=True)
        self.finish(data.draw(usual | st.lists(known, min_size=1, max_size=3, unique=True)))

    def finish(self, offsets: list[int]) -> None:
        self.apply(Deleted(tuple(offsets)))
        for at in offsets:
            self.model.messages[at].is_done = True

    @precondition(lambda self: self.model.messages)
    @rule(data=st.data(), hidden_ms=durations_ms)
    def change_visibility(self, data: st.DataObject, hidden_ms: int) -> None:
        offsets = self.model.offsets("in_flight") or sorted(self.model.messages)
        self.put_off(data.draw(st.sampled_from(offsets)), hidden_ms)

    def put_off(self, offset: int, hidden_ms: int) -> None:
        deadline_ms = self.model.now_ms + hidden_ms
        self.apply(VisibilityChanged(offset, deadline_ms))
        message = self.model.messages[offset]
        if message.receive_count:
            message.deadline_ms = deadline_ms
            self.noticed = self.noticed and hidden_ms > 0

    @rule(passed_ms=durations_ms, is_noticed=st.booleans())
    def pass_time(self, passed_ms: int, is_noticed: bool) -> None:
        before = set(self.model.offsets("ready"))
        was_noticed = self.noticed
        self.model.now_ms += passed_ms
        self.noticed = is_noticed
        if is_noticed:
            became_ready = self.delivery.tick(self.model.now_ms)
            if set(self.model.offsets("ready")) - before:
                assert became_ready
            elif was_noticed and not self.model.offsets("dead"):
                self.delivery.tick(self.model.now_ms)
            assert not self.delivery.tick(self.model.now_ms)

    @rule(data=st.data())
    def trim(self, data: st.DataObject) -> None:
        low_offset, end_offset = self.delivery.low_offset(), self.delivery.end_offset
        expired = self.delivery.expired_before(self.model.now_ms)
        a_few = st.integers(low_offset, min(low_offset + 3, end_offset))
        before = data.draw(a_few | st.sampled_from([expired, end_offset]))
        self.apply(Trimmed(before))
        for at, message in self.model.messages.items():
            if at < before:
                message.is_done = True

    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        model = self.model
        first = data.draw(st.integers(0, self.delivery.end_offset))
        last = data.draw(st.integers(first, self.delivery.end_offset))
        # What never was is not replayed: the broker would find no message there.
        if any(at not in model.messages for at in range(first, last)):
            return
        groups: dict[bytes, list[int]] = {}
        for at in range(first, last):
            message = model.messages[at]
            if message.group is not None:
                groups.setdefault(message.group, []).append(at)
            if message.is_done:
                model.messages[at] = Message(message.sent_ms, 0, message.group)
        by_group = tuple((group, tuple(offsets)) for group, offsets in groups.items())
        self.apply(Replayed(first, last, model.now_ms, by_group))

    @rule(most=st.sampled_from([None, 1, 2, 3]))
    def change_redrive_policy(self, most: int | None) -> None:
        if not self.noticed:
            self.delivery.tick(self.model.now_ms)
            self.noticed = True
        self.model.rules = replace(self.model.rules, receive_count_max=most)
        self.delivery.rules = self.model.rules

    @rule()
    def move_dead(self) -> None:
        self.finish(list(self.delivery.dead()))

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        lost = data.draw(st.integers(0, min(5, self.delivery.end_offset)))
        end_offset = self.delivery.end_offset - lost
        self.delivery.truncate(end_offset)
        assert self.delivery.end_offset == end_offset
        for at in range(end_offset, end_offset + lost):
            self.model.messages.pop(at, None)
        self.checkpoint()

    @rule()
    def checkpoint(self) -> None:
        self.old_snapshot = self.delivery.snapshot()
        self.old_end_offset = self.delivery.end_offset
        self.changes: list[Change] = []

    @rule()
    def restart(self) -> None:
        snapshot = self.delivery.snapshot()
        self.delivery = Delivery.from_snapshot(snapshot, self.model.rules)
        assert self.delivery.snapshot() == snapshot

    @rule()
    def recover(self) -> None:
        model = self.model
        recovered = Delivery.from_snapshot(self.old_snapshot, model.rules)
        for at in sorted(model.messages):
            message = model.messages[at]
            if at >= self.old_end_offset - 1:
                recovered.enqueue(at, message.sent_ms, group=message.group, due_ms=message.due_ms)
        written = b"".join(map(encode_change, self.changes))
        for change in decode_changes(written):
            recovered.apply(change)
        recovered.tick(model.now_ms)
        self.delivery.tick(model.now_ms)
        self.noticed = True
        assert image_of(recovered) == image_of(self.delivery)
        self.delivery = recovered

    @invariant()
    def every_message_is_as_the_model_says(self) -> None:
        model, delivery = self.model, self.delivery
        if not self.noticed:
            return
        for at, message in model.messages.items():
            assert delivery.state_of(at, model.now_ms) == model.state(message)
            held = delivery.held(at)
            if message.is_done or message.receive_count == 0:
                assert held is None
            else:
                assert held is not None
                assert held.receive_count == message.receive_count
                assert held.deadline_ms == message.deadline_ms
                assert held.first_received_ms == message.first_received_ms
                assert (held.group or b"") == (message.group or b"")
        assert delivery.state_of(delivery.end_offset, model.now_ms) == "unknown"

    @invariant()
    def the_sums_are_right(self) -> None:
        model, delivery = self.model, self.delivery
        if not self.noticed:
            return
        assert delivery.ready_count == len(model.offsets("ready"))
        assert delivery.in_flight_count == len(model.offsets("in_flight", "dead"))
        assert delivery.delayed_count == len(model.offsets("delayed"))
        assert delivery.dead() == tuple(sorted(model.offsets("dead")))
        assert delivery.next_deadline_ms() == model.next_deadline_ms()
        undone = sorted(model.offsets("ready", "in_flight", "delayed", "dead"))
        assert delivery.low_offset() == (undone[0] if undone else delivery.end_offset)
        assert delivery.undone(0, 100_000) == undone
        middle = delivery.end_offset // 2
        assert delivery.undone(middle, 5) == [at for at in undone if at >= middle][:5]

    @invariant()
    def nothing_expires_too_early(self) -> None:
        cutoff_ms = self.model.now_ms - RETENTION_MS
        before = self.delivery.expired_before(self.model.now_ms)
        for at, message in self.model.messages.items():
            if at < before and not message.is_done:
                assert message.sent_ms <= cutoff_ms


def image_of(delivery: Delivery) -> object:
    """Its snapshot, but for what goes by when somebody looked, and promises nothing: the order
    of returned messages in a standard queue, and who was noisy."""
    image = decode_image(delivery.snapshot())
    image.returned = to_column(array("q", sorted(from_column(image.returned))))
    image.returned_next = False
    image.fairness = b""
    return image


class StandardMachine(QueueMachine):
    pass


class FairMachine(QueueMachine):
    groups = [None, *GROUPS]


class FifoMachine(QueueMachine):
    fifo = True
    groups = [None, *GROUPS]

    def check_choice(self, chosen: list[int], count: int) -> None:
        assert chosen == self.model.fifo_choice(count)


@pytest.mark.thorough
@pytest.mark.parametrize("machine", [StandardMachine, FairMachine, FifoMachine])
def test_a_queue_does_what_the_model_does(machine: type[QueueMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
