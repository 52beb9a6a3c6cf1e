"""Compares real queues with their references: every difference must have a reason.

What was sent appears when it is durable; what is handed out goes to somebody who asked; what
goes away has expired or moved. After that nothing may differ.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

from tests.fakes.held_disk import HeldDisk
from tests.fakes.queue_house import QueueHouse
from tests.unit.broker.queues.model.observed import (
    NEVER_RECEIVED,
    Observed,
    id_at,
    observe,
    record_at,
)
from tests.unit.broker.queues.model.reference import Hidden, Message, State, Taken
from tests.unit.broker.queues.model.requests import Pair, Purging, Request, Taking

from duolog.broker.queues.move_tasks import HIDDEN_MS
from duolog.broker.queues.queue import Queue
from duolog.core.queues.message import from_record
from duolog.model.queue_errors import OverLimit


class Verification:
    def __init__(self, house: QueueHouse, disk: HeldDisk, pairs: Sequence[Pair]) -> None:
        self.house = house
        self.disk = disk
        self.pairs = {pair.name: pair for pair in pairs}
        self.requests: list[Request] = []
        self.by_body: dict[str, Message] = {}
        self.numbers = count(1)
        self._orders = count(1)
        self.attempt_epoch = 0
        """Crashes that left it open whether a receive by name happened: its name is not used
        again."""

    @property
    def now_ms(self) -> int:
        return self.house.clock.now_ms()

    def queue(self, pair: Pair) -> Queue:
        return self.house.queue(pair.name)

    def ask(self, request: Request, ask: Callable[[Callable[[Any], None]], object]) -> object:
        async def asked() -> object:
            return ask(request.answers.append)

        self.requests.append(request)
        result = self.house.run(asked())
        self.settle()
        return result

    def settle(self) -> None:
        """Let everything go on that does not wait for the disk."""
        self.house.settle()

        async def purged() -> None:
            while self.disk.is_settled and not all(each.answers for each in purgings):
                await asyncio.sleep(0)

        purgings = [each for each in self.requests if isinstance(each, Purging)]
        self.house.run(purged())

    def compare(self) -> None:
        """To be called when all that can go on has gone on."""
        moved: list[tuple[Pair, Message]] = []
        for pair in self.pairs.values():
            moved += [(pair, message) for message in self.accept_arrivals(pair)]
        for pair in self.pairs.values():
            self._accept_releases(pair)
            self._accept_expired(pair)
            self._accept_takings(pair)
            if pair.is_moving:
                self._accept_hidings(pair)
        for pair, message in moved:
            assert self._may_move(pair, message), f"{message} came from nowhere"
        for pair in self.pairs.values():
            self._accept_departures(pair)
        for pair in self.pairs.values():
            self._compare_states(pair)
        self._check_answers()

    def accept_arrivals(self, pair: Pair) -> list[Message]:
        """Take in what has become readable; returns what came from another queue."""
        moved = []
        queue, model = self.queue(pair), pair.model
        handed_out = {place for taking in pair.takings for place in taking.handed_out}
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
                self.by_body[told.body] = message
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

    def _accept_expired(self, pair: Pair) -> None:
        """What is past retention, and went before others of its group were taken."""
        now_ms, model = self.now_ms, pair.model
        seen = observe(self.queue(pair))
        just_taken = {
            place for taking in pair.takings for place in taking.handed_out[len(taking.taken) :]
        }
        for message in list(model.messages.values()):
            if (
                message.place not in seen.keys() | just_taken
                and model.is_past_retention(message, now_ms)
                and not (pair.is_moving or self._is_condemned(pair, message))
            ):
                model.end(message, now_ms)

    def _accept_takings(self, pair: Pair) -> None:
        now_ms, model = self.now_ms, pair.model
        for taking in pair.takings:
            places = taking.handed_out[len(taking.taken) :]
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

    def _accept_hidings(self, pair: Pair) -> None:
        """A task hides what it is about to move."""
        now_ms = self.now_ms
        seen = observe(self.queue(pair))
        for message in chain.from_iterable(pair.model.lanes(now_ms)):
            now = seen.get(message.place, NEVER_RECEIVED)
            if now[:2] == (message.state.receive_count + 1, now_ms + HIDDEN_MS):
                message.happen(Taken(now_ms, now_ms + HIDDEN_MS))

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
            wanted = self.expected(pair, message, message.state, now_ms)
            assert seen[message.place] == wanted, f"{message} is {seen[message.place]}"
            message.is_condemned |= wanted.is_dead
        assert seen.keys() == model.messages.keys()
        assert tuple(queue.counts()) == tuple(model.counts(now_ms))
        waiting = [
            each
            for each in pair.takings
            if not (each.taken or each.is_repetition or each.is_abandoned or each.answers)
        ]
        assert queue.parked == len(waiting)
        if any(each.until_ms > now_ms for each in waiting):
            assert not model.available(now_ms), "somebody waits although there are messages"

    def expected(self, pair: Pair, message: Message, state: State, now_ms: int) -> Observed:
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
        for request in [each for each in self.requests if each.answers]:
            self.requests.remove(request)
            (answer,) = request.answers
            is_failure = isinstance(answer, Exception) and not isinstance(answer, OverLimit)
            assert request.may_fail or not is_failure, answer
            request.check(answer)
            for message in messages:
                message.settle(request)
        for pair in self.pairs.values():
            self._forget_answered(pair)
        if self.disk.is_settled:
            for message in messages:
                message.settle_all()
                message.is_condemned = False
            waiting = [each for pair in self.pairs.values() for each in pair.takings]
            unanswered = [each for each in self.requests if each not in waiting]
            assert all(isinstance(each, Taking) and each.is_abandoned for each in unanswered)
            assert not any(pair.unread for pair in self.pairs.values())

    def _forget_answered(self, pair: Pair) -> None:
        """Nobody who asked has to be waited for any longer, or is there to be answered."""
        is_settled = self.disk.is_settled
        for taking in list(pair.takings):
            if taking.is_abandoned and is_settled:
                for message, receive_count, _ in taking.taken:
                    is_kept = message.state.receive_count == receive_count
                    assert not (is_kept and pair.model.is_in_flight(message, self.now_ms)), (
                        f"{message} is hidden, and nobody has it"
                    )
            if taking.answers or (taking.is_abandoned and (is_settled or not taking.taken)):
                pair.takings.remove(taking)
