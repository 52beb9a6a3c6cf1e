"""Queues against their reference (model/reference.py): random histories, with crashes and restarts.

After every step each message is where it should be, and the counts are exact. What is received
is what may be, and as much as there is. Nothing acknowledged is lost, nothing deleted returns.
"""

import tempfile
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.fakes.held_disk import HeldDisk
from tests.fakes.queue_house import QueueHouse
from tests.unit.broker.queues.model.comparison import Comparison
from tests.unit.broker.queues.model.reference import (
    DEDUPLICATION_MS,
    Receipt,
    ReferenceQueue,
)
from tests.unit.broker.queues.model.requests import Pair

from duolog.broker.queues import recovery, upkeep
from duolog.broker.queues.registry import QUIET_MS

IN_FLIGHT_MAX = 12
RECENT = 12
RETAIN_SECONDS = 900
GROUPS = ("a", "b", "c")

SMALL = {
    (upkeep, "SNAPSHOT_AFTER_NS"): 60_000,
    (upkeep, "RECLAIM_BYTES_MIN"): 1,
    (recovery, "IN_FLIGHT_MAX"): IN_FLIGHT_MAX,
}
"""So that what happens to large queues happens to small ones."""

picks = st.integers(0, RECENT - 1)
names = st.sampled_from(("work", "work", "work", "dead"))
visibilities = st.sampled_from((None, 0, 1_000, 5_000, 60_000))


class QueueMachine(RuleBasedStateMachine):
    fifo = False
    spread = False
    """Over several partitions."""

    @initialize(
        once=st.sampled_from((False, False, False, True)),
        retain=st.sampled_from((0, RETAIN_SECONDS)),
    )
    def start(self, once: bool, retain: int) -> None:
        self._undo = ExitStack()
        self._numbers = count(100)
        for (module, name), value in SMALL.items():
            self._undo.enter_context(patch.object(module, name, value))
        directory = self._undo.enter_context(tempfile.TemporaryDirectory())
        partitions = "3" if self.spread else "1"
        node = {
            "queue.partitions": partitions,
            "queue.fifo.partitions": "3",
            "sqs.purge.interval.seconds": "0",
        }
        disk = HeldDisk()
        house = QueueHouse(str(Path(directory) / "meta.sqlite"), node, disk)
        suffix = ".fifo" if self.fifo else ""
        attributes = {"FifoQueue": "true"} if self.fifo else {}
        if self.fifo and self.spread:
            attributes["DeduplicationScope"] = "messageGroup"
            attributes["FifoThroughputLimit"] = "perMessageGroupId"
        house.create(f"dead{suffix}", **attributes)
        attributes["duolog:RetainDeleted"] = str(retain)
        if once:
            attributes["duolog:Delivery"] = "at-most-once"
        house.create(f"work{suffix}", **attributes)
        self.work = self._pair(f"work{suffix}", once)
        self.dead = self._pair(f"dead{suffix}", False)
        self.work.retain_ms = retain * 1_000
        self.both = Comparison(house, disk, [self.work, self.dead])
        self._undo.callback(self.both.close)

    def _pair(self, name: str, once: bool) -> Pair:
        model = ReferenceQueue(fifo=self.fifo, once=once, in_flight_max=IN_FLIGHT_MAX)
        return Pair(name, model, by_group=self.fifo and self.spread)

    @property
    def _has_grown(self) -> bool:
        """Then what is replayed may be in another partition than the rest of its group."""
        return self.spread and not type(self).spread

    # Most of what can be asked for has an effect only where something was done before it.

    def _stocked(self, name: str) -> Pair:
        """A queue that has messages."""
        if name == "dead" and self.dead.model.messages:
            return self.dead
        if not self.work.model.messages:
            self._send_new()
        return self.work

    def _send_new(self) -> None:
        self._send([(group, next(self._numbers), None) for group in GROUPS])

    def _received(self, name: str, chosen: list[int]) -> tuple[Pair, list[Receipt]]:
        """Receipts of messages that were received lately, and perhaps again since."""
        pair = self._stocked(name)
        if not pair.model.counts(self.both.now_ms).in_flight:
            self.both.receive(pair, 6, visibility_ms=10_000)
        recent = pair.receipts[-RECENT:]
        return pair, [recent[-1 - each % len(recent)] for each in chosen] if recent else []

    def _id(self, given: int) -> str:
        """Which of the ids that were given before are known in a new scope is not promised."""
        return f"{given} of a group" if self.work.by_group else f"{given}"

    def _send(self, messages: list[tuple[str, int, int | None]]) -> None:
        self.both.send(
            self.work,
            [
                # Standard queues take groups, too; and FIFO queues no delay of a message.
                (group, self._id(given), None)
                if self.fifo
                else (group if given % 2 else None, None, delay)
                for group, given, delay in messages
            ],
        )

    @rule(
        messages=st.lists(
            st.tuples(
                st.sampled_from(GROUPS),
                st.integers(0, 9),
                st.sampled_from((None, None, None, 0, 1, 7)),
            ),
            min_size=1,
            max_size=6,
        )
    )
    def send(self, messages: list[tuple[str, int, int | None]]) -> None:
        self._send(messages)

    @rule(
        partition=st.integers(0, 2),
        keys=st.lists(st.sampled_from((None, "a")), min_size=1, max_size=3),
    )
    @precondition(lambda self: not (self.fifo and self.spread))
    def produce_as_kafka_does(self, partition: int, keys: list[str | None]) -> None:
        self.both.produce(self.work, partition if self.spread else 0, keys)

    @rule(name=names, count=st.integers(1, 10), visibility_ms=visibilities)
    def receive(self, name: str, count: int, visibility_ms: int | None) -> None:
        self.both.receive(self._stocked(name), count, visibility_ms=visibility_ms)

    @rule(
        count=st.integers(1, 10),
        visibility_ms=st.sampled_from((0, 5_000, 60_000)),
        attempt=st.sampled_from(("x", "y")),
        then=st.sampled_from(("nothing", "again", "restart", "crash")),
    )
    @precondition(lambda self: self.fifo and not self.work.model.once)
    def receive_by_name(self, count: int, visibility_ms: int, attempt: str, then: str) -> None:
        pair = self._stocked("work")
        self.both.receive(pair, count, visibility_ms=visibility_ms, attempt=attempt)
        match then:
            case "nothing":
                return
            case "restart":
                self.both.restart()
            case "crash":
                self.both.crash(None)
        self.both.receive(pair, count, visibility_ms=visibility_ms, attempt=attempt)

    @rule(
        name=names,
        count=st.integers(1, 10),
        wait_ms=st.sampled_from((500, 3_000, 20_000)),
        visibility_ms=st.sampled_from((None, 1_000, 5_000)),
    )
    def wait_for_messages(
        self, name: str, count: int, wait_ms: int, visibility_ms: int | None
    ) -> None:
        pair = self.work if name == "work" else self.dead
        self.both.receive(pair, count, wait_ms=wait_ms, visibility_ms=visibility_ms)

    @rule(name=names, pick=picks)
    def abandon(self, name: str, pick: int) -> None:
        pair = self.work if name == "work" else self.dead
        if not pair.takings:
            self.both.receive(pair, 3, wait_ms=5_000)
        self.both.abandon(pair, pick)

    @rule(name=names, chosen=st.lists(picks, min_size=1, max_size=6))
    def delete(self, name: str, chosen: list[int]) -> None:
        pair, receipts = self._received(name, chosen)
        if receipts:
            self.both.delete(pair, receipts)

    @rule(
        name=names,
        chosen=st.lists(picks, min_size=1, max_size=4, unique=True),
        ms=st.sampled_from((0, 0, 1_000, 20_000, 43_200_000)),
    )
    def change_visibility(self, name: str, chosen: list[int], ms: int) -> None:
        pair, receipts = self._received(name, chosen)
        if receipts:
            # Of the same twice, the second may or may not find the first done.
            self.both.change_visibility(pair, list(dict.fromkeys(receipts)), ms)

    @rule(ms=st.sampled_from((1, 499, 500, 1_000, 4_000, 5_000, 30_000)) | st.integers(0, 10_000))
    def pass_time(self, ms: int) -> None:
        self.both.advance(ms)

    @rule(is_early=st.booleans(), is_after_crash=st.booleans())
    @precondition(lambda self: self.fifo and not self.both.disk.is_held)
    def repeat_at_the_end_of_the_window(self, is_early: bool, is_after_crash: bool) -> None:
        """Five minutes after something was sent, or a moment before, it is sent again."""
        self._stocked("work")
        latest = self.work.model.latest_sent()
        if latest is None:
            return
        scope, given, sent_ms = latest
        if (scope is not None) != self.work.by_group:
            # It was given in another scope: whether it is known in this one is not promised.
            return
        wait_ms = sent_ms + DEDUPLICATION_MS - is_early - self.both.now_ms
        if wait_ms >= 0:
            self.both.advance(wait_ms)
            if is_after_crash:
                self.both.crash(None)
            self.both.send(self.work, [(scope or GROUPS[0], given, None)])

    @rule(name=names)
    @precondition(lambda self: not self.both.disk.is_held)
    def pass_time_until_one_nearly_expires(self, name: str) -> None:
        pair = self._stocked(name)
        # Somebody who waited may have taken all of it for good.
        times_ms = [message.sent_ms for message in pair.model.messages.values()]
        oldest_ms = min(times_ms, default=self.both.now_ms)
        wait_ms = oldest_ms + pair.model.retention_ms - 1 - self.both.now_ms
        if wait_ms > 0:
            self.both.advance(wait_ms)

    @rule(ms=st.sampled_from((60_000, 299_999, 300_000, 3_600_000)))
    @precondition(lambda self: not self.both.disk.is_held)
    def pass_much_time(self, ms: int) -> None:
        self.both.advance(ms)
        # A queue is looked after now and then, and needs a journal before anything expires.
        for _ in range(3):
            self.both.advance(QUIET_MS)
        now_ms = self.both.now_ms
        for pair in (self.work, self.dead):
            for message in pair.model.messages.values():
                counted_ms = max(message.sent_ms, pair.model.replayed_ms)
                age_ms = now_ms - counted_ms - 3 * QUIET_MS
                assert age_ms <= pair.model.retention_ms, f"{message} should have expired"
                assert not pair.model.is_dead(message, now_ms), f"{message} should have moved"

    @rule(
        visibility=st.sampled_from((0, 2, 30, 600)),
        delay=st.sampled_from((0, 0, 3, 60)),
        retention=st.sampled_from((60, 600, 345_600)),
    )
    def set_attributes(self, visibility: int, delay: int, retention: int) -> None:
        model = self.work.model
        model.visibility_ms, model.delay_ms = visibility * 1_000, delay * 1_000
        model.retention_ms = retention * 1_000
        self.both.set_attributes(
            self.work,
            VisibilityTimeout=str(visibility),
            DelaySeconds=str(delay),
            MessageRetentionPeriod=str(retention),
        )

    @rule(receive_count_max=st.sampled_from((None, 1, 1, 2, 3)))
    def set_redrive(self, receive_count_max: int | None) -> None:
        self.both.set_redrive(self.work, self.dead, receive_count_max)

    def _let_some_die(self) -> None:
        self.both.set_redrive(self.work, self.dead, 1)
        if not self.dead.model.messages:
            self.both.receive(self._stocked("work"), 4, visibility_ms=0)

    @rule(is_told=st.booleans())
    @precondition(lambda self: not self.both.disk.is_held)
    def move_back(self, is_told: bool) -> None:
        self._let_some_die()
        self.both.move(self.dead, self.work if is_told else None)

    @rule(syncs=st.integers(0, 4), seed=st.none() | st.integers(0, 1 << 16))
    @precondition(lambda self: not self.both.disk.is_held)
    def crash_while_moving_back(self, syncs: int, seed: int | None) -> None:
        self._let_some_die()
        self.both.crash_while_moving(self.dead, syncs, None if seed is None else Random(seed))

    @rule(name=names)
    @precondition(lambda self: not (self.spread and self.both.disk.is_held))
    def purge(self, name: str) -> None:
        self.both.purge(self._stocked(name))

    @rule(
        ago_ms=st.sampled_from((1, 5_000, 400_000)), length_ms=st.sampled_from((1_000, 1_000_000))
    )
    @precondition(lambda self: not (self.both.disk.is_held or self._has_grown))
    def replay(self, ago_ms: int, length_ms: int) -> None:
        from_ms = self.both.now_ms - ago_ms
        self.both.replay(self.work, from_ms, from_ms + length_ms)

    @rule(group=st.sampled_from(GROUPS), given=st.integers(0, 9))
    def send_to_a_failing_disk(self, group: str, given: int) -> None:
        self.both.send_to_a_failing_disk(self.work, group, self._id(given) if self.fifo else None)

    @rule(name=names)
    def receive_on_a_failing_disk(self, name: str) -> None:
        self.both.receive_on_a_failing_disk(self._stocked(name))

    @rule(name=names, pick=picks)
    def delete_on_a_failing_disk(self, name: str, pick: int) -> None:
        pair, receipts = self._received(name, [pick])
        for receipt in receipts:
            self.both.delete_on_a_failing_disk(pair, receipt)

    @rule()
    @precondition(lambda self: not self.both.disk.is_held)
    def hold_syncs(self) -> None:
        self.both.hold()

    @rule()
    @precondition(lambda self: self.both.disk.is_held)
    def sync_once(self) -> None:
        self.both.sync_once()

    @rule()
    @precondition(lambda self: self.both.disk.is_held)
    def release_syncs(self) -> None:
        self.both.release()

    @rule(
        steps=st.lists(
            st.sampled_from(("send", "receive", "delete", "hide", "abandon", "wait", "sync")),
            max_size=6,
        ),
        seed=st.none() | st.integers(0, 1 << 16),
    )
    def crash(self, steps: list[str], seed: int | None) -> None:
        """While some requests, the steps, are under way."""
        self.both.hold()
        for step in steps:
            match step:
                case "send":
                    self._send_new()
                case "receive":
                    self.both.receive(self._stocked("work"), 3, visibility_ms=5_000)
                case "delete":
                    self.both.delete(*self._received("work", [0]))
                case "hide":
                    self.both.change_visibility(*self._received("work", [0]), 3_000)
                case "abandon":
                    self.both.abandon(self.work, 0)
                case "wait":
                    self.both.advance(1_500)
                case "sync":
                    self.both.sync_once()
        self.both.crash(None if seed is None else Random(seed))

    @rule()
    def restart(self) -> None:
        self.both.restart()

    def teardown(self) -> None:
        if hasattr(self, "_undo"):
            self._undo.close()


class SpreadMachine(QueueMachine):
    spread = True


class FifoMachine(QueueMachine):
    fifo = True


class SpreadFifoMachine(QueueMachine):
    fifo = True
    spread = True


class GrowingFifoMachine(QueueMachine):
    """A FIFO queue that becomes a high-throughput one: groups move to other partitions."""

    fifo = True

    @rule()
    @precondition(lambda self: not (self.spread or self.both.disk.is_held))
    def grow(self) -> None:
        self.both.set_attributes(
            self.work, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId"
        )
        self.spread = self.work.by_group = True


# A failing history is readable as it is, while shrinking it takes minutes.
SETTINGS = settings(
    max_examples=16,
    stateful_step_count=40,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

TestStandardQueue = QueueMachine.TestCase
TestStandardQueue.settings = SETTINGS
TestStandardQueueOfSeveralPartitions = SpreadMachine.TestCase
TestStandardQueueOfSeveralPartitions.settings = SETTINGS
TestFifoQueue = FifoMachine.TestCase
TestFifoQueue.settings = SETTINGS
TestHighThroughputFifoQueue = SpreadFifoMachine.TestCase
TestHighThroughputFifoQueue.settings = SETTINGS
TestFifoQueueThatGrows = GrowingFifoMachine.TestCase
TestFifoQueueThatGrows.settings = SETTINGS
