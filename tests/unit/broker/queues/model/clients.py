"""What clients ask of a queue, and what they must be told."""

from collections.abc import Sequence
from typing import Any

from tests.unit.broker.queues.model.reference import ATTEMPT_MS, Hidden, Receipt
from tests.unit.broker.queues.model.requests import Held, Pair, Request, Taking, Unread
from tests.unit.broker.queues.model.verification import Verification

from duolog.broker.queues.receiving import Received
from duolog.core.queues.message import Outgoing
from duolog.model.queue_errors import OverLimit
from duolog.records.builder import build_batch
from duolog.records.record import Record


class Clients(Verification):
    def send(
        self, pair: Pair, messages: Sequence[tuple[str | None, str | None, int | None]]
    ) -> None:
        """Each with its group, deduplication id and delay."""
        now_ms = self.now_ms
        outgoing, wanted = [], []
        for group, given, delay in messages:
            body = str(next(self.numbers))
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
                self.by_body[body].id for body in wanted
            ]

        request = Request(check)
        self.ask(request, lambda done: self.queue(pair).send(outgoing, done))
        self.compare()

    def produce(self, pair: Pair, partition: int, keys: Sequence[str | None]) -> None:
        """As a Kafka producer does."""
        now_ms = self.now_ms
        records = []
        for key in keys:
            body = str(next(self.numbers))
            records.append(Record(None if key is None else key.encode(), body.encode(), (), now_ms))
            group = (key or "") if pair.model.fifo else None
            pair.unread[body] = Unread(now_ms, group, 0)
        data = self.queue(pair).partitions[partition].data

        async def append() -> None:
            data.stage(memoryview(build_batch(records)), now_ms)
            data.write_staged(now_ms)

        self.house.run(append())
        self.settle()
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
            attempt = f"{attempt}-{self.attempt_epoch}"
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
            taking.check = _check_over_limit
        else:
            taking.check = lambda answer: self._check_received(pair, taking.taken, answer)
        taking.receive = self.ask(  # type: ignore[assignment]
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
        self.settle()
        self.compare()

    def delete(self, pair: Pair, receipts: Sequence[Receipt]) -> None:
        now_ms, model = self.now_ms, pair.model
        verdicts = [model.verdict(receipt, now_ms) for receipt in receipts]
        wanted = [verdict != "refused" for verdict in verdicts]
        request = Request(lambda found: check_equal([each is None for each in found], wanted))
        for receipt, verdict in zip(receipts, verdicts, strict=True):
            # The same may be in a batch twice.
            if verdict == "deleted" and receipt.place in model.messages:
                model.end(model.messages[receipt.place], now_ms, request)
        handles = [receipt.handle for receipt in receipts]
        self.ask(request, lambda done: self.queue(pair).delete(handles, done))
        self.compare()

    def change_visibility(self, pair: Pair, receipts: Sequence[Receipt], ms: int) -> None:
        now_ms = self.now_ms
        request = Request(lambda answer: None)
        wanted = [
            pair.model.change_visibility(receipt, ms, now_ms, request) for receipt in receipts
        ]
        request.check = lambda results: check_equal(
            ["" if each is None else type(each).__name__ for each in results], wanted
        )
        changes = [(receipt.handle, ms) for receipt in receipts]
        self.ask(request, lambda done: self.queue(pair).change_visibility(changes, done))
        self.compare()


def check_equal(found: object, wanted: object) -> None:
    assert found == wanted


def _check_over_limit(answer: object) -> None:
    assert isinstance(answer, OverLimit), answer
