"""Real queues beside their references: every request goes to both, and nothing may differ.

Requests are answered when the disk has synced, which may be held back. What a request does to
the queue happens when it is made; only messages that are sent appear with the sync.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC
from itertools import count
from random import Random
from typing import Any, NamedTuple

from tests.fakes.queue_house import ACCOUNT, REGION, QueueHouse
from tests.unit.broker.queues.held_disk import HeldDisk
from tests.unit.broker.queues.observed import NEVER_RECEIVED, Observed, id_at, observe, record_at
from tests.unit.broker.queues.reference import (
    ATTEMPT_MS,
    Hidden,
    Message,
    Place,
    Receipt,
    ReferenceQueue,
    State,
)

from duolog.broker.queues.journal import RETRY_MS
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.receiving import Receive, Received
from duolog.core.queues.message import Outgoing, from_record
from duolog.model.errors import StorageFailed
from duolog.model.names import queue_state_topic
from duolog.model.queue_errors import OverLimit
from duolog.records.builder import build_batch
from duolog.records.record import Record

MOVE_TURNS_MAX = 200


class Unread(NamedTuple):
    """Sent, and not readable yet."""

    sent_ms: int
    group: str | None
    due_ms: int


Held = tuple[Message, int, int]
"""A message that was received, how often, and when first."""


@dataclass(eq=False)
class Request:
    check: Callable[[Any], None]
    """What the answer has to pass."""
    may_fail: bool = False
    answers: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Taking(Request):
    """A receive, until it is answered."""

    receive: Receive | None = None
    count: int = 0
    visibility_ms: int = 0
    until_ms: int = 0
    """How long it waits."""
    attempt: str | None = None
    is_repetition: bool = False
    """It gets what it got before."""
    taken_ms: int = 0
    taken: list[Held] = field(default_factory=list)
    is_abandoned: bool = False


@dataclass(eq=False)
class Purging(Request):
    task: asyncio.Task[int] | None = None

    def finished(self, task: asyncio.Task[int]) -> None:
        if not task.cancelled():
            self.answers.append(task.exception() or task.result())


class Pair:
    """One queue, and what it should be."""

    def __init__(self, name: str, model: ReferenceQueue, *, by_group: bool = False) -> None:
        self.name = name
        self.model = model
        self.by_group = by_group
        """Whether a deduplication id is known in its group only."""
        self.retain_ms = 0
        self.unread: dict[str, Unread] = {}
        self.takings: list[Taking] = []
        self.receipts: list[Receipt] = []
        self.attempts: dict[str, Taking] = {}
        self.is_moving = False


class Comparison:
    def __init__(self, house: QueueHouse, disk: HeldDisk, pairs: Sequence[Pair]) -> None:
        self.house = house
        self.disk = disk
        self.pairs = {pair.name: pair for pair in pairs}
        self._requests: list[Request] = []
        self._by_body: dict[str, Message] = {}
        self._numbers = count(1)
        self._orders = count(1)
        self._lives = 0
        """Crashes that left it open whether a receive by name happened: its name is not used
        again."""

    @property
    def now_ms(self) -> int:
        return self.house.clock.now_ms()

    def queue(self, pair: Pair) -> Queue:
        return self.house.queue(pair.name)

    def _ask(self, request: Request, ask: Callable[[Callable[[Any], None]], object]) -> object:
        async def asked() -> object:
            return ask(request.answers.append)

        self._requests.append(request)
        result = self.house.run(asked())
        self._settle()
        return result

    def _settle(self) -> None:
        """Let everything go on that does not wait for the disk."""
        self.house.settle()

        async def purged() -> None:
            while self.disk.is_settled and not all(each.answers for each in purgings):
                await asyncio.sleep(0)

        purgings = [each for each in self._requests if isinstance(each, Purging)]
        self.house.run(purged())

    # What clients do.

    def send(
        self, pair: Pair, messages: Sequence[tuple[str | None, str | None, int | None]]
    ) -> None:
        """Each with its group, deduplication id and delay."""
        now_ms = self.now_ms
        outgoing, wanted = [], []
        for group, given, delay in messages:
            body = str(next(self._numbers))
            outgoing.append(Outgoing(body, {}, delay, group, given))
            scope = group if pair.by_group else None
            known = given and pair.model.duplicate_of(scope, given, now_ms)
            if known:
                wanted.append(known)
                continue
            if given:
                pair.model.remember(scope, given, body, now_ms)
            delay_ms = pair.model.delay_ms if delay is None else delay * 1000
            due_ms = now_ms + delay_ms if delay_ms else 0
            pair.unread[body] = Unread(now_ms, group, due_ms)
            wanted.append(body)

        def check(results: Any) -> None:
            assert [each.message_id for each in results] == [
                self._by_body[body].id for body in wanted
            ]

        request = Request(check)
        self._ask(request, lambda done: self.queue(pair).send(outgoing, done))
        self.compare()

    def produce(self, pair: Pair, partition: int, keys: Sequence[str | None]) -> None:
        """As a Kafka producer does."""
        now_ms = self.now_ms
        records = []
        for key in keys:
            body = str(next(self._numbers))
            records.append(Record(key and key.encode(), body.encode(), (), now_ms))
            group = (key or "") if pair.model.fifo else None
            pair.unread[body] = Unread(now_ms, group, 0)
        data = self.queue(pair).partitions[partition].data

        async def append() -> None:
            data.stage(memoryview(build_batch(records)), now_ms)
            data.write_staged(now_ms)

        self.house.run(append())
        self._settle()
        self.compare()

    def receive(
        self,
        pair: Pair,
        count: int,
        *,
        wait_ms: int = 0,
        visibility_ms: int | None = None,
        attempt: str | None = None,
    ) -> None:
        now_ms, model = self.now_ms, pair.model
        hidden_ms = model.visibility_ms if visibility_ms is None else visibility_ms
        if attempt is not None:
            attempt = f"{attempt}-{self._lives}"
        again = self._still_held(pair, pair.attempts.get(attempt or ""))
        wanted = min(count, model.available(now_ms))
        is_refused = not wanted and model.is_over_limit(now_ms)
        taking = Taking(lambda answer: None, count=count, visibility_ms=hidden_ms, attempt=attempt)
        taking.until_ms = now_ms + wait_ms
        taking.is_repetition = bool(again)
        if again:
            for message, _, _ in again:
                message.happen(Hidden(now_ms + hidden_ms), taking)
            taking.check = lambda answer: self._check_received(pair, again, answer)
        elif is_refused:
            taking.check = lambda answer: _check_over_limit(answer)
        else:
            taking.check = lambda answer: self._check_received(pair, taking.taken, answer)
        taking.receive = self._ask(  # type: ignore[assignment]
            taking,
            lambda done: self.queue(pair).receive(
                count=count,
                wait_ms=wait_ms,
                visibility_ms=visibility_ms,
                attempt=attempt,
                done=done,
            ),
        )
        pair.takings.append(taking)
        self.compare()
        if again or is_refused:
            assert not taking.taken
        elif wanted or not wait_ms:
            assert len(taking.taken) == wanted
            taking.until_ms = now_ms

    def _still_held(self, pair: Pair, taking: Taking | None) -> list[Held]:
        """What a receive got and has in flight by that very delivery.

        Of each partition that is all or nothing.
        """
        now_ms, model = self.now_ms, pair.model
        if taking is None or now_ms >= taking.taken_ms + ATTEMPT_MS:
            return []
        lost = {
            message.place[0]
            for message, receive_count, first_ms in taking.taken
            if message.place not in model.messages
            or not model.is_in_flight(message, now_ms)
            or message.state.receive_count != receive_count
            or message.state.first_received_ms != first_ms
        }
        return [held for held in taking.taken if held[0].place[0] not in lost]

    def _check_received(self, pair: Pair, taken: Sequence[Held], answer: Any) -> None:
        assert isinstance(answer, list), answer
        found: list[Received] = sorted(answer, key=lambda each: each.message_id)
        wanted = sorted(taken, key=lambda held: held[0].id)
        assert [
            (each.message_id, each.message.body, each.receive_count, each.first_received_ms)
            for each in found
        ] == [
            (message.id, message.body, receive_count, first_ms)
            for message, receive_count, first_ms in wanted
        ]
        for each, (message, receive_count, _) in zip(found, wanted, strict=True):
            handle = each.receipt_handle
            pair.receipts.append(Receipt(handle, message.place, message.lives, receive_count))
            if pair.model.fifo:
                assert (each.message.group_id or "") == message.group
                numbers = [
                    other.sequence_number
                    for other in answer
                    if other.message.group_id == each.message.group_id
                ]
                assert numbers == sorted(numbers), "a group is not in order"

    def abandon(self, pair: Pair, pick: int) -> None:
        """A client goes away that waits for messages, or for the disk."""
        open_ones = [each for each in pair.takings if not each.answers and not each.is_abandoned]
        if not open_ones:
            return
        taking = open_ones[pick % len(open_ones)]
        taking.is_abandoned = True
        receive = taking.receive
        assert receive is not None

        async def abandon() -> None:
            receive.abandon()

        self.house.run(abandon())
        self._settle()
        self.compare()

    def delete(self, pair: Pair, receipts: Sequence[Receipt]) -> None:
        now_ms, model = self.now_ms, pair.model
        verdicts = [model.verdict(receipt, now_ms) for receipt in receipts]
        wanted = [verdict != "refused" for verdict in verdicts]
        request = Request(lambda found: _check_equal([each is None for each in found], wanted))
        for receipt, verdict in zip(receipts, verdicts, strict=True):
            # The same may be in a batch twice.
            if verdict == "deleted" and receipt.place in model.messages:
                model.end(model.messages[receipt.place], now_ms, request)
        handles = [receipt.handle for receipt in receipts]
        self._ask(request, lambda done: self.queue(pair).delete(handles, done))
        self.compare()

    def change_visibility(self, pair: Pair, receipts: Sequence[Receipt], ms: int) -> None:
        now_ms = self.now_ms
        request = Request(lambda answer: None)
        wanted = [
            pair.model.change_visibility(receipt, ms, now_ms, request) for receipt in receipts
        ]
        request.check = lambda results: _check_equal(
            ["" if each is None else type(each).__name__ for each in results], wanted
        )
        changes = [(receipt.handle, ms) for receipt in receipts]
        self._ask(request, lambda done: self.queue(pair).change_visibility(changes, done))
        self.compare()

    def send_to_a_full_disk(self, pair: Pair, group: str | None, given: str | None) -> None:
        outgoing = [Outgoing("never", {}, None, group, given)]
        scope = group if pair.by_group else None
        is_known = given and pair.model.duplicate_of(scope, given, self.now_ms)

        def check(answer: Any) -> None:
            assert is_known or isinstance(answer[0], StorageFailed), answer

        self._meet_full_disk(
            f"{pair.name}-", check, lambda done: self.queue(pair).send(outgoing, done)
        )

    def receive_on_a_full_disk(self, pair: Pair) -> None:
        wanted = StorageFailed if pair.model.available(self.now_ms) else (list, OverLimit)

        def check(answer: Any) -> None:
            assert isinstance(answer, wanted), answer

        self._meet_full_disk(
            f"{queue_state_topic(pair.name)}-",
            check,
            lambda done: self.queue(pair).receive(
                count=1, wait_ms=0, visibility_ms=None, attempt=None, done=done
            ),
        )

    def delete_on_a_full_disk(self, pair: Pair, receipt: Receipt) -> None:
        verdict = pair.model.verdict(receipt, self.now_ms)

        def check(answer: Any) -> None:
            if verdict == "deleted":
                assert isinstance(answer, StorageFailed), answer
            else:
                assert [each is None for each in answer] == [verdict == "accepted"]

        self._meet_full_disk(
            f"{queue_state_topic(pair.name)}-",
            check,
            lambda done: self.queue(pair).delete([receipt.handle], done),
        )

    def _meet_full_disk(
        self,
        path_part: str,
        check: Callable[[Any], None],
        ask: Callable[[Callable[[Any], None]], object],
    ) -> None:
        """A write fails: whoever needs it is refused, and everything is as it was."""
        self.disk.fail("write", ENOSPC, path_part=path_part)
        self._ask(Request(check, may_fail=True), ask)
        self.disk.clear_faults()
        self._forget_refused()
        # For so long a partition takes no writes.
        self.house.clock.at_ms += RETRY_MS
        self._settle()
        self._forget_refused()
        self.compare()

    def _forget_refused(self) -> None:
        """Those who waited for messages may have been the ones who needed the disk."""
        for pair in self.pairs.values():
            for taking in list(pair.takings):
                if taking.answers and isinstance(taking.answers[0], StorageFailed):
                    pair.takings.remove(taking)
                    self._requests.remove(taking)

    # What operators do.

    def purge(self, pair: Pair) -> None:
        now_ms, purged = self.now_ms, len(pair.model.messages)
        request = Purging(lambda answer: _check_equal(answer, purged))
        self._requests.append(request)

        async def purge() -> None:
            request.task = asyncio.ensure_future(self.house.queues.purge(pair.name))
            request.task.add_done_callback(request.finished)

        self.house.run(purge())
        for message in list(pair.model.messages.values()):
            pair.model.end(message, now_ms, request)
        self._settle()
        self.compare()

    def set_attributes(self, pair: Pair, **attributes: str) -> None:
        self.house.run(self.house.queues.set_attributes(pair.name, attributes))
        self._settle()

    def set_redrive(self, pair: Pair, target: Pair, receive_count_max: int | None) -> None:
        policy = ""
        if receive_count_max is not None:
            policy = (
                f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:{target.name}",'
                f'"maxReceiveCount":{receive_count_max}}}'
            )
        pair.model.receive_count_max = receive_count_max
        self.set_attributes(pair, RedrivePolicy=policy)
        self.compare()

    def replay(self, pair: Pair, from_ms: int, to_ms: int) -> None:
        """Brings back what is done and still there; what must be retained is there."""
        assert self.disk.is_settled
        # Deliveries of two lives at the same time could not be told apart.
        self.advance(1)
        now_ms, model = self.now_ms, pair.model
        count = self.house.run(self.house.queues.replay(pair.name, from_ms, to_ms))
        taken = {place for taking in pair.takings for place in _handed_out(taking)}
        there = observe(self.queue(pair)).keys() | taken
        revived = 0
        for message in list(model.done.values()):
            is_wanted = from_ms <= message.sent_ms < to_ms
            if message.place in there and is_wanted:
                model.revive(message, now_ms)
                revived += 1
            elif is_wanted:
                assert now_ms - message.done_ms >= pair.retain_ms, f"{message} was not retained"
        assert count == revived or pair.takings
        self._settle()
        self.compare()

    def move(self, source: Pair, destination: Pair | None) -> None:
        """Run a task that empties a dead-letter queue."""
        assert self.disk.is_settled
        # Tasks are listed by their time.
        self.advance(1)
        tasks = self.house.queues.move_tasks
        source.is_moving = True
        name = None if destination is None else destination.name
        handle = self.house.run(tasks.start(source.name, name, None))
        for _ in range(MOVE_TURNS_MAX):
            (task,) = [each for each in tasks.list(source.name, 10) if each.handle == handle]
            if task.status != "RUNNING":
                break
            self._settle()
        assert task.status == "COMPLETED", task
        # The store works in order: after this it knows, too.
        self.house.run(self.house.store.get("anything"))
        self._settle()
        self.compare()
        source.is_moving = False
        assert source.model.available(self.now_ms) == 0

    # What happens by itself.

    def advance(self, ms: int) -> None:
        self.house.clock.at_ms += ms
        self._settle()
        self.compare()

    def hold(self) -> None:
        self.disk.is_held = True

    def sync_once(self) -> None:
        async def finish() -> None:
            self.disk.finish_sync()

        self.house.run(finish())
        self._settle()
        self.compare()

    def release(self) -> None:
        async def release() -> None:
            self.disk.release()

        self.house.run(release())
        self._settle()
        self.compare()

    def restart(self) -> None:
        self.release()
        self.house.restart()
        self._forget_requests()
        self._settle()
        self.compare()

    def crash(self, random: Random | None) -> None:
        """What nobody was told of may have happened or not; the rest has."""
        self.house.crash(random)
        for pair in self.pairs.values():
            self._accept_arrivals(pair)
            lost = pair.unread.keys() - self._by_body.keys()
            pair.model.forget(lost)
            pair.unread.clear()
            for name, taking in list(pair.attempts.items()):
                if not taking.answers:
                    del pair.attempts[name]
                    self._lives += 1
        self._forget_requests()
        for pair in self.pairs.values():
            self._decide(pair)
        self._settle()
        self.compare()

    def _forget_requests(self) -> None:
        for request in self._requests:
            if isinstance(request, Purging) and request.task is not None:
                request.task.cancel()
        self._requests.clear()
        self.house.settle()
        for pair in self.pairs.values():
            pair.takings.clear()

    def _decide(self, pair: Pair) -> None:
        """Find out which of the possible states a crash has left."""
        now_ms, model = self.now_ms, pair.model
        seen = observe(self.queue(pair))
        for message in [*model.messages.values(), *model.done.values()]:
            possible = message.possible()
            now = seen.get(message.place)
            if now is not None:
                left = [
                    state
                    for state in possible
                    if not state.is_done and self._expected(pair, message, state, now_ms) == now
                ]
                assert left, f"{message} is {now}, which is none of {possible}"
                message.settle_as(left[0])
                if message.place in model.done:
                    model.messages[message.place] = model.done.pop(message.place)
            elif State(is_done=True) in possible:
                message.settle_as(State(is_done=True))
                if message.place in model.messages:
                    message.done_ms = now_ms
                    model.done[message.place] = model.messages.pop(message.place)
            else:
                # Gone for another reason, which compare() asks for: it may have died at once.
                dead = [
                    state
                    for state in possible
                    if self._expected(pair, message, state, now_ms).is_dead
                ]
                message.settle_as(dead[0] if dead else message.state)

    def close(self) -> None:
        self._forget_requests()
        self.house.close()

    # The comparison.

    def compare(self) -> None:
        moved: list[tuple[Pair, Message]] = []
        for pair in self.pairs.values():
            moved += [(pair, message) for message in self._accept_arrivals(pair)]
        for pair in self.pairs.values():
            self._accept_releases(pair)
            self._accept_takings(pair)
        for pair, message in moved:
            assert self._may_move(pair, message), f"{message} came from nowhere"
        for pair in self.pairs.values():
            self._accept_departures(pair)
        for pair in self.pairs.values():
            self._compare_states(pair)
        self._check_answers()

    def _accept_arrivals(self, pair: Pair) -> list[Message]:
        """Take in what has become readable; returns what came from another queue."""
        moved = []
        queue, model = self.queue(pair), pair.model
        handed_out = {place for taking in pair.takings for place in _handed_out(taking)}
        for place in sorted(observe(queue).keys() | handed_out):
            if place in model.messages or place in model.done:
                continue
            record = record_at(queue, place)
            told = from_record(record)
            unread = pair.unread.pop(told.body, None) if told.origin is None else None
            if unread is not None:
                sent_ms, group, due_ms = unread
                assert record.timestamp == sent_ms
            else:
                assert told.origin is not None, f"{told} was never sent"
                sent_ms, due_ms = record.timestamp, 0
                group = (told.group_id or "") if model.fifo else told.group_id
            order = next(self._orders)
            message = Message(place, id_at(queue, place), told.body, group, order, sent_ms, due_ms)
            model.arrive(message)
            if unread is None:
                moved.append(message)
            else:
                self._by_body[told.body] = message
        return moved

    def _accept_releases(self, pair: Pair) -> None:
        """What an abandoned receive had got, and nobody else since, is visible again."""
        seen = observe(self.queue(pair))
        for taking in [each for each in pair.takings if each.is_abandoned]:
            for message, receive_count, _ in taking.taken:
                now = seen.get(message.place, NEVER_RECEIVED)
                if message.state.receive_count != receive_count:
                    continue
                if now.hidden_until_ms is None or now.receive_count > receive_count:
                    message.happen(Hidden(min(self.now_ms, message.state.hidden_until_ms)))

    def _accept_takings(self, pair: Pair) -> None:
        now_ms, model = self.now_ms, pair.model
        for taking in pair.takings:
            places = _handed_out(taking)[len(taking.taken) :]
            if not places:
                continue
            assert len(places) <= taking.count
            assert not taking.is_abandoned, "an abandoned receive got messages"
            model.take(places, now_ms, now_ms + taking.visibility_ms, taking)
            for place in places:
                message = model.messages.get(place) or model.done[place]
                state = message.state
                first_ms = now_ms if model.once else state.first_received_ms
                taking.taken.append((message, state.receive_count or 1, first_ms))
            taking.taken_ms = now_ms
            if taking.attempt is not None:
                pair.attempts[taking.attempt] = taking

    def _may_move(self, target: Pair, moved: Message) -> bool:
        return any(
            message.id == moved.id and (pair.is_moving or self._is_condemned(pair, message))
            for pair in self.pairs.values()
            if pair is not target
            for message in (*pair.model.messages.values(), *pair.model.done.values())
        )

    def _is_condemned(self, pair: Pair, message: Message) -> bool:
        return message.is_condemned or pair.model.is_dead(message, self.now_ms)

    def _accept_departures(self, pair: Pair) -> None:
        now_ms, model = self.now_ms, pair.model
        seen = observe(self.queue(pair))
        for message in [each for each in model.messages.values() if each.place not in seen]:
            has_moved = (pair.is_moving or self._is_condemned(pair, message)) and any(
                copy.id == message.id and copy.order > message.order
                for other in self.pairs.values()
                if other is not pair
                for copy in (*other.model.messages.values(), *other.model.done.values())
            )
            assert has_moved or model.is_past_retention(message, now_ms), f"{message} is lost"
            model.end(message, now_ms)

    def _compare_states(self, pair: Pair) -> None:
        now_ms, model = self.now_ms, pair.model
        queue = self.queue(pair)
        seen = observe(queue)
        for message in model.messages.values():
            wanted = self._expected(pair, message, message.state, now_ms)
            assert seen[message.place] == wanted, f"{message} is {seen[message.place]}"
            message.is_condemned |= wanted.is_dead
        assert seen.keys() == model.messages.keys()
        assert queue.counts() == model.counts(now_ms)
        waiting = [
            each
            for each in pair.takings
            if not (each.taken or each.is_repetition or each.is_abandoned or each.answers)
        ]
        assert queue.parked == len(waiting)
        if any(each.until_ms > now_ms for each in waiting):
            assert not model.available(now_ms), "somebody waits although there are messages"

    def _expected(self, pair: Pair, message: Message, state: State, now_ms: int) -> Observed:
        if not state.receive_count:
            return NEVER_RECEIVED
        is_hidden = state.hidden_until_ms > now_ms
        limit = pair.model.receive_count_max
        return Observed(
            state.receive_count,
            state.hidden_until_ms if is_hidden else None,
            state.first_received_ms,
            not is_hidden and limit is not None and state.receive_count >= limit,
        )

    def _check_answers(self) -> None:
        messages = [
            message
            for pair in self.pairs.values()
            for message in (*pair.model.messages.values(), *pair.model.done.values())
        ]
        for request in [each for each in self._requests if each.answers]:
            self._requests.remove(request)
            (answer,) = request.answers
            is_failure = isinstance(answer, Exception) and not isinstance(answer, OverLimit)
            assert request.may_fail or not is_failure, answer
            request.check(answer)
            for message in messages:
                message.settle(request)
        for pair in self.pairs.values():
            pair.takings = [
                each
                for each in pair.takings
                if not each.answers
                and not (each.is_abandoned and (self.disk.is_settled or not each.taken))
            ]
        if self.disk.is_settled:
            for message in messages:
                message.settle_all()
                message.is_condemned = False
            waiting = [each for pair in self.pairs.values() for each in pair.takings]
            unanswered = [each for each in self._requests if each not in waiting]
            assert all(isinstance(each, Taking) and each.is_abandoned for each in unanswered)
            assert not any(pair.unread for pair in self.pairs.values())


def _handed_out(taking: Taking) -> list[Place]:
    if taking.receive is None:
        return []
    return [
        (partition.data.index, offset)
        for partition, offsets in taking.receive.handed_out
        for offset in offsets
    ]


def _check_equal(found: object, wanted: object) -> None:
    assert found == wanted


def _check_over_limit(answer: object) -> None:
    assert isinstance(answer, OverLimit), answer
