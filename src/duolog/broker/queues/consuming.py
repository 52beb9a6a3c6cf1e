"""Receives of a queue: gathers them per turn, hands out messages, parks long polls."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from duolog.broker.queues.commits import Commits
from duolog.broker.queues.handing_out import received, within_bytes
from duolog.broker.queues.message_reader import PlainRun
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.receiving import Alike, Asker, Receive, Received, ServedTogether
from duolog.model.errors import Refusal
from duolog.model.queue_errors import OverLimit
from duolog.records.changes import Cause, Deleted, Trimmed, VisibilityChanged
from duolog.records.record import Record

PARKED_MAX = 100_000
"""Maximum number of parked long polls per queue; further receives are answered empty at once."""

Gathered = tuple[Receive, int]
"""A receive of this turn, and its wait time in ms."""


class Consuming:
    __slots__ = ("_alike", "_gathered", "_on_handed_out", "_parked", "_queue", "_turn")

    def __init__(self, queue: QueueState) -> None:
        self._queue = queue
        self._parked: OrderedDict[Receive, None] = OrderedDict()
        self._gathered: list[Gathered] = []
        self._alike: list[Alike] = []
        self._turn = 0
        """Rotates the partition at which the next receive looks first."""
        self._on_handed_out = self._handed_out

    @property
    def parked(self) -> int:
        return len(self._parked)

    def receive(
        self,
        *,
        count: int,
        wait_ms: int,
        visibility_ms: int | None,
        attempt: str | None,
        done: Callable[[list[Received] | Refusal], None],
        bytes_max: int | None = None,
    ) -> Receive:
        """Receives up to `count` messages; answers empty after `wait_ms` without any.

        `bytes_max` bounds the answer, unless a single message is larger.
        """

        def answered(result: Sequence[Received] | Refusal) -> None:
            done(result if isinstance(result, Refusal) else list(result))

        hidden_ms, name = self._hidden_ms(visibility_ms), _name_of(attempt)
        receive = Receive(count, hidden_ms, name, answered, self._on_handed_out, bytes_max)
        self._queue.turn.gather(self)
        self._gathered.append((receive, wait_ms))
        return receive

    def receive_each(
        self,
        asker: Asker,
        tokens: Sequence[Any],
        *,
        count: int,
        wait_ms: int,
        visibility_ms: int | None,
        attempt: str | None,
    ) -> None:
        """Queues several identical receives, each answered through `asker` by its token."""
        hidden_ms, name = self._hidden_ms(visibility_ms), _name_of(attempt)
        self._queue.turn.gather(self)
        self._alike.append(Alike(asker, tokens, count, hidden_ms, name, wait_ms))

    def _hidden_ms(self, visibility_ms: int | None) -> int:
        """Visibility time-out of the request, else the queue's default."""
        if visibility_ms is None:
            return self._queue.config.visibility_timeout_seconds * 1000
        return visibility_ms

    def flush(self) -> None:
        """Serves the receives of this turn, identical ones together with one change."""
        gathered, self._gathered = self._gathered, []
        alike, self._alike = self._alike, []
        is_open = self._queue.is_writable and not self._queue.is_gone
        for each in alike:
            served = self._serve_alike(each) if is_open else 0
            for token in each.tokens[served:]:
                receive = each.apart(token, self._on_handed_out)
                each.asker.waits(token, receive.abandon)
                gathered.append((receive, each.wait_ms))
        for receive, wait_ms in gathered:
            if is_open:
                self._begin(receive, wait_ms)
            else:
                self._queue.journaled(partial(self._begin, receive, wait_ms), receive.answer)

    def _serve_alike(self, alike: Alike) -> int:
        """Serves identical receives together; returns how many of them, from the first on, were
        served. The caller serves the others one by one.

        Returns 0 if messages have groups: then each receive depends on what others hold.
        """
        partitions = self._queue.partitions
        if alike.attempt or len(partitions) != 1 or partitions[0].delivery.has_groups:
            return 0
        partition = partitions[0]
        now_ms = self._queue.clock.now_ms()
        try:
            offsets, records = self._take_out(partition, alike.count * len(alike.tokens), now_ms)
            if not offsets:
                return 0
            known = partition.delivery.held_count
            end_offset = self._deliver(partition, offsets, now_ms, alike.visibility_ms)
            are_new = partition.delivery.held_count == known + len(offsets)
        except Refusal:
            # Each receive meets the same refusal when it is served alone, and reports it.
            return 0
        full, rest = divmod(len(offsets), alike.count)
        counts = [alike.count] * full + [rest] * (rest > 0)
        found = received(self._queue, partition, records, counts, now_ms, are_new=are_new)
        self._queue.owner.rearm(partition)
        assert partition.journal is not None
        together = ServedTogether(alike, counts, (partition, offsets), found, self._on_handed_out)
        partition.journal.partition.wait_committed(end_offset, together)
        return len(counts)

    def _begin(self, receive: Receive, wait_ms: int) -> None:
        if receive.is_abandoned:
            return
        if not self._queue.partitions:
            # All partitions were moved to other nodes in this very turn.
            receive.answer([])
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
        """Serves parked long polls, oldest first, after messages may have become ready."""
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
        """Hands out available messages; False if there are none."""
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
        """Hands out up to `count` messages of one partition. Returns the journal offset to commit
        before the answer; None if nothing was handed out."""
        offsets, records = self._take_out(partition, count, now_ms)
        if receive.bytes_left is not None:
            if isinstance(records, PlainRun):
                records = records.records()
            offsets, records = within_bytes(receive, receive.bytes_left, offsets, records)
        if not offsets:
            return None
        end_offset = self._deliver(
            partition, offsets, now_ms, receive.visibility_ms, receive.attempt
        )
        receive.handed_out.append((partition, offsets))
        found = received(self._queue, partition, records, [len(offsets)], now_ms)
        receive.found = [*receive.found, *found] if receive.found else found
        self._queue.owner.rearm(partition)
        return end_offset

    def _take_out(
        self, partition: QueuePartition, count: int, now_ms: int
    ) -> tuple[Sequence[int], list[Record] | PlainRun]:
        """Chooses available messages and reads their records, giving up unreadable ones."""
        delivery = partition.delivery
        if delivery.soonest_ms <= now_ms:
            delivery.tick(now_ms)
        while offsets := delivery.choose(count, now_ms):
            run = partition.reader.take_plain(offsets)
            if run is not None:
                return offsets, run
            taken = partition.reader.take_each(offsets)
            records = [record for record in taken if record is not None]
            if len(records) < len(offsets):
                offsets = self._give_up_missing(partition, offsets, taken)
            if offsets:
                return offsets, records
        return [], []

    def _deliver(
        self,
        partition: QueuePartition,
        offsets: Sequence[int],
        now_ms: int,
        visibility_ms: int,
        attempt: bytes = b"",
    ) -> int:
        once = self._queue.config.delivery == "at-most-once"
        return partition.deliver(
            offsets, now_ms, now_ms + visibility_ms, attempt=attempt, once=once
        )

    def _give_up_missing(
        self, partition: QueuePartition, offsets: Sequence[int], records: Sequence[Record | None]
    ) -> list[int]:
        """Marks messages whose records cannot be read as done; returns the other offsets."""
        found: list[int] = []
        gone: list[int] = []
        for offset, record in zip(offsets, records, strict=True):
            (gone if record is None else found).append(offset)
        start_offset = partition.data.log.start_offset
        if gone[0] < start_offset:
            # Removed by the topic's retention, or by DeleteRecords, before upkeep noticed.
            undone = partition.delivery.undone_count
            partition.change(Trimmed(start_offset, Cause.REMOVED))
            expired = undone - partition.delivery.undone_count
            self._queue.owner.count_messages(self._queue.entry.name, "expire", expired)
        unreadable = tuple(each for each in gone if each >= start_offset)
        if unreadable:
            partition.change(Deleted(unreadable, Cause.UNREADABLE))
        return found

    def _find_again(self, receive: Receive, now_ms: int) -> dict[QueuePartition, tuple[int, ...]]:
        """Messages that an earlier receive with the same attempt id got, by partition."""
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
        """Hands out again the messages of an earlier receive with the same attempt id, whose
        answer was lost."""
        end_offset = None
        records = []
        for offset in offsets:
            record = partition.reader.take(offset)
            if record is not None:
                end_offset = partition.change(
                    VisibilityChanged(offset, now_ms + receive.visibility_ms)
                )
                records.append(record)
        # All at once, as the first time, so that the receipt handles are the same.
        if records:
            found = received(self._queue, partition, records, [len(records)], now_ms)
            receive.found = [*receive.found, *found]
        self._queue.owner.rearm(partition)
        if not receive.visibility_ms:
            # Visible at once to others, but they must not be served in the middle of this call.
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
        """Answers all parked long polls empty: this node serves no partition any more."""
        while self._parked:
            self._parked.popitem(last=False)[0].answer([])

    def refuse_parked(self) -> None:
        """Refuses all parked long polls: the queue was deleted."""
        while self._parked:
            self._parked.popitem(last=False)[0].answer(gone())


def _name_of(attempt: str | None) -> bytes:
    return attempt.encode() if attempt else b""
