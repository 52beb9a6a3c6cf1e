"""How messages leave a queue: to whoever asks, or waits, for them."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

from duolog.broker.queues.commits import Commits
from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.receiving import Receive, Received
from duolog.core.queues.changes import Deleted, Trimmed, VisibilityChanged
from duolog.core.queues.message import from_record
from duolog.model.errors import Refusal
from duolog.model.queue_errors import OverLimit
from duolog.records.builder import encoded_size
from duolog.records.record import Record

PARKED_MAX = 100_000
"""Long polls that wait at one queue; past it the next is answered at once, with nothing."""


class Consuming:
    def __init__(self, queue: QueueState) -> None:
        self._queue = queue
        self._parked: OrderedDict[Receive, None] = OrderedDict()
        self._turn = 0
        """Which partition the next receive looks at first."""
        self._on_handed_out = self._handed_out

    @property
    def parked(self) -> int:
        return len(self._parked)

    def receive(
        self,
        count: int,
        wait_ms: int,
        visibility_ms: int | None,
        attempt: str | None,
        done: Callable[[list[Received] | Refusal], None],
        bytes_max: int | None = None,
    ) -> Receive:
        """Answered with messages, or after `wait_ms` without any."""
        if visibility_ms is None:
            visibility_ms = self._queue.config.visibility_timeout_seconds * 1000
        receive = Receive(
            count, visibility_ms, attempt.encode() if attempt else b"", done, self._on_handed_out
        )
        receive.bytes_left = bytes_max
        if self._queue.is_writable and not self._queue.is_gone:
            self._begin(receive, wait_ms)
        else:
            self._queue.journaled(partial(self._begin, receive, wait_ms), receive.answer)
        return receive

    def _begin(self, receive: Receive, wait_ms: int) -> None:
        if receive.is_abandoned:
            return
        now_ms = self._queue.clock.now_ms()
        try:
            if self._serve(receive, now_ms):
                return
            if not self._queue.config.fifo and any(
                each.delivery.is_over_limit for each in self._queue.partitions
            ):
                raise OverLimit("Too many messages are in flight.")
        except Refusal as refusal:
            receive.answer(refusal)
            return
        if not wait_ms or len(self._parked) >= PARKED_MAX:
            receive.answer([])
            return
        self._parked[receive] = None
        receive.on_abandoned = self._parked.pop
        loop = asyncio.get_running_loop()
        receive.timer = loop.call_later(wait_ms / 1000, self._waited_long_enough, receive)

    def _waited_long_enough(self, receive: Receive) -> None:
        del self._parked[receive]
        receive.answer([])

    def serve_parked(self) -> None:
        """Something may have become ready."""
        if not self._queue.is_writable:
            if not self._queue.has_journals:
                self._queue.owner.open_journals(self._queue, self._journals_opened)
            return
        now_ms = self._queue.clock.now_ms()
        while self._parked:
            receive, _ = self._parked.popitem(last=False)
            try:
                if not self._serve(receive, now_ms):
                    self._parked[receive] = None
                    self._parked.move_to_end(receive, last=False)
                    return
            except Refusal as refusal:
                receive.answer(refusal)

    def _journals_opened(self, failure: Refusal | None) -> None:
        if failure is None and self._parked:
            self.serve_parked()

    def _serve(self, receive: Receive, now_ms: int) -> bool:
        """Hand out what there is; False if that is nothing."""
        partitions = self._queue.partitions
        if len(partitions) > 1 or receive.attempt:
            return self._serve_from_any(receive, now_ms)
        partition = partitions[0]
        end_offset = self._hand_out(receive, partition, receive.count, now_ms)
        if end_offset is None:
            return False
        if receive.timer is not None:
            receive.unpark()
        assert partition.journal is not None
        partition.journal.partition.wait_committed(end_offset, receive)
        return True

    def _serve_from_any(self, receive: Receive, now_ms: int) -> bool:
        partitions = self._queue.partitions
        first = self._turn % len(partitions)
        partitions = partitions[first:] + partitions[:first]
        again = self._find_again(receive, now_ms) if receive.attempt else {}
        commits: Commits | None = None
        for partition in again or partitions:
            if again:
                end_offset = self._hand_out_again(receive, partition, again[partition], now_ms)
            elif wanted := receive.count - len(receive.found):
                end_offset = self._hand_out(receive, partition, wanted, now_ms)
            else:
                break
            if end_offset is not None:
                journal = partition.journal
                assert journal is not None
                if commits is None:
                    commits = Commits(receive.settle)
                commits.add(journal.partition, end_offset)
        if commits is None:
            return False
        self._turn += 1
        receive.unpark()
        commits.close()
        return True

    def _hand_out(
        self, receive: Receive, partition: QueuePartition, count: int, now_ms: int
    ) -> int | None:
        """What the journal must reach before the answer; None if nothing was handed out."""
        delivery = partition.delivery
        if delivery.soonest_ms <= now_ms:
            delivery.tick(now_ms)
        take = partition.reader.take
        while offsets := delivery.choose(count, now_ms):
            records = [take(offset) for offset in offsets]
            if None in records:
                offsets = self._give_up_missing(partition, offsets, records)
            if offsets:
                break
        else:
            return None
        if receive.bytes_left is not None:
            offsets, records = _within_bytes(receive, receive.bytes_left, offsets, records)
            if not offsets:
                return None
        once = self._queue.config.delivery == "at-most-once"
        end_offset = partition.deliver(
            offsets, now_ms, now_ms + receive.visibility_ms, attempt=receive.attempt, once=once
        )
        receive.handed_out.append((partition, offsets))
        for record in records:
            if record is not None:
                receive.found.append(self._received(partition, record, now_ms))
        self._queue.owner.rearm(partition)
        return end_offset

    def _give_up_missing(
        self, partition: QueuePartition, offsets: list[int], records: Sequence[Record | None]
    ) -> list[int]:
        """Messages that cannot be read are done; returns the others."""
        found: list[int] = []
        gone: list[int] = []
        for offset, record in zip(offsets, records, strict=True):
            (gone if record is None else found).append(offset)
        start_offset = partition.data.log.start_offset
        if gone[0] < start_offset:
            # Retention of the topic, or DeleteRecords, was quicker than upkeep.
            partition.change(Trimmed(start_offset))
        partition.change(Deleted(tuple(each for each in gone if each >= start_offset)))
        return found

    def _received(self, partition: QueuePartition, record: Record, now_ms: int) -> Received:
        offset, data = record.offset, partition.data
        assert offset is not None
        held = partition.delivery.held(offset)
        if held is None:
            # What is delivered at most once is not held: it is gone already.
            count, received_ms, first_received_ms = 1, now_ms, now_ms
        else:
            count, received_ms = held.receive_count, held.received_ms
            first_received_ms = held.first_received_ms
        message = from_record(record)
        queue = self._queue
        return Received(
            message.origin or partition.ids.of(offset),
            queue.receipts.encode(data.index, offset, count, data.leader_epoch, received_ms),
            message,
            count,
            first_received_ms,
            sequence_number(data.index, offset) if queue.config.fifo else None,
        )

    def _find_again(self, receive: Receive, now_ms: int) -> dict[QueuePartition, tuple[int, ...]]:
        """What the same attempt got, if it was made before."""
        found = {}
        for partition in self._queue.partitions:
            offsets = partition.delivery.find_attempt(receive.attempt, now_ms)
            if offsets is not None:
                found[partition] = offsets
        return found

    def _hand_out_again(
        self,
        receive: Receive,
        partition: QueuePartition,
        offsets: Sequence[int],
        now_ms: int,
    ) -> int | None:
        """The client did not get the answer to the same attempt: it gets the same once more."""
        end_offset = None
        for offset in offsets:
            record = partition.reader.take(offset)
            if record is not None:
                end_offset = partition.change(
                    VisibilityChanged(offset, now_ms + receive.visibility_ms)
                )
                receive.found.append(self._received(partition, record, now_ms))
        self._queue.owner.rearm(partition)
        if not receive.visibility_ms:
            # Others may have them already, but not in the middle of this.
            asyncio.get_running_loop().call_soon(self.serve_parked)
        return end_offset

    def _handed_out(self, receive: Receive, failure: Refusal | None) -> None:
        if receive.is_abandoned and failure is None:
            now_ms = self._queue.clock.now_ms()
            counts = (each.receive_count for each in receive.found)
            for partition, offsets in receive.handed_out:
                partition.release(list(zip(offsets, counts, strict=False)), now_ms)
        else:
            receive.answer(failure or receive.found)

    def end_parked(self) -> None:
        """There is nothing left to wait for here."""
        while self._parked:
            self._parked.popitem(last=False)[0].answer([])

    def refuse_parked(self) -> None:
        """The queue was deleted: whoever waits is told."""
        while self._parked:
            self._parked.popitem(last=False)[0].answer(gone())


def _within_bytes(
    receive: Receive, bytes_left: int, offsets: list[int], records: Sequence[Record | None]
) -> tuple[list[int], list[Record | None]]:
    """Those of the messages that the answer has room for; the first of all it always has."""
    readable = [record for record in records if record is not None]
    room = len(readable)
    for place, record in enumerate(readable):
        bytes_left -= encoded_size(record)
        if bytes_left < 0 and (place or receive.found):
            room = place
            break
    receive.bytes_left = bytes_left
    return offsets[:room], [*readable[:room]]
