"""The follower's side of a partition: verifies the leader's batches, appends them unchanged.

Partition derives from it; broker/replication/copier.py drives it.
"""

from duolog.broker.replica import Replica
from duolog.core.replica.truncation import NO_EPOCH, Divergence, cut_offset
from duolog.model.errors import CorruptBatch, DiskFull, LeadershipLost, StorageFailed
from duolog.observe.logs import get_logger
from duolog.records.checksum import is_intact
from duolog.records.header import HEADER_BYTES, BatchHeader, read_header
from duolog.records.iterator import iter_batches

log = get_logger("replication")


class FollowingReplica(Replica):
    __slots__ = ("_fsync",)

    _fsync: bool
    """True if a record counts as copied only once it is on disk (durability `fsync`)."""

    @property
    def copied_offset(self) -> int:
        """End of the records that are as durable here as the topic asks: the next to fetch."""
        return self.log.durable_offset if self._fsync else self.log.end_offset

    def epoch_before(self, offset: int) -> int:
        """The leader epoch of the last record below the offset; NO_EPOCH if there is none."""
        if offset <= self.log.start_offset:
            return NO_EPOCH
        return self.log.epoch_at(offset - 1)

    def append_copied(self, data: memoryview, from_offset: int, next_offset: int) -> None:
        """Appends the leader's batches for the range from `from_offset` (requested) to
        `next_offset` (as the leader says). Raises CorruptBatch, appending none, if one is wrong."""
        if from_offset > self.log.end_offset:
            # Requested before this copy was cut: the missing records would look like a gap in
            # the leader's own log.
            raise CorruptBatch(
                f"the answer begins at {from_offset}, after the log's end {self.log.end_offset}"
            )
        if self._reserve.is_full and not self.uses_reserve:
            raise DiskFull("the disk of this node is full")
        now_ms = self._clock.now_ms()
        self._begin_with_whole_batch(data)
        self._cut_where_different(data)
        batches = self._proved(data, from_offset, next_offset)
        if not batches:
            return
        try:
            self.log.append_copied(batches, now_ms)
        except StorageFailed as failure:
            self._recall_producers()
            if isinstance(failure, DiskFull):
                self._makes_room()
            raise
        for header, _ in batches:
            self._producers.replay(header, header.base_offset, now_ms)
        self.batches_in += len(batches)
        self.bytes_in += len(data)
        if self._fsync:
            self._flusher.request(self)

    def _begin_with_whole_batch(self, data: memoryview) -> None:
        """Moves an empty log's start back to that of the first batch: the leader's start offset
        can lie inside a batch, which is copied whole."""
        offset = self.log.end_offset
        if len(data) >= HEADER_BYTES and offset == self.log.start_offset:
            header = read_header(data)
            if 0 <= header.base_offset < offset < header.next_offset:
                self.restart_at(header.base_offset)

    def _cut_where_different(self, data: memoryview) -> None:
        """Truncates where the leader's batches differ from records here that are not durable yet.

        The fetch reports only durable records, so the leader could not see the divergence. Two
        batches at one offset are the same if they have the same leader epoch.
        """
        end_offset = self.log.end_offset
        for header, _ in iter_batches(data):
            if header.base_offset >= end_offset:
                return
            last_known = min(header.next_offset, end_offset) - 1
            is_held = last_known >= self.log.start_offset
            if is_held and self.log.epoch_at(last_known) != header.leader_epoch:
                self.cut_to(header.base_offset)
                return

    def _proved(
        self, data: memoryview, from_offset: int, next_offset: int
    ) -> list[tuple[BatchHeader, memoryview]]:
        """Checks offset, checksum and epoch of each batch; returns those that this copy lacks."""
        batches: list[tuple[BatchHeader, memoryview]] = []
        end_offset = self.log.end_offset
        offset, epoch = from_offset, self.epoch_before(end_offset)
        for header, batch in iter_batches(data):
            # The first batch may begin before `from_offset`; leading batches may be here already,
            # not durable yet.
            is_known = not batches and header.next_offset <= end_offset
            is_due = header.base_offset >= (offset if batches else end_offset)
            is_further = offset < header.next_offset <= next_offset
            if not (is_further and (is_known or is_due)):
                raise CorruptBatch(
                    f"the leader sent offset {header.base_offset}, where {offset} was due"
                )
            if not is_intact(batch):
                raise CorruptBatch(f"the checksum of the batch at {header.base_offset} is wrong")
            offset = header.next_offset
            if is_known:
                continue
            if not epoch <= header.leader_epoch <= self.leader_epoch:
                raise CorruptBatch(
                    f"the leader sent epoch {header.leader_epoch} at offset {header.base_offset},"
                    f" between {epoch} and {self.leader_epoch}"
                )
            epoch = header.leader_epoch
            batches.append((header, batch))
        return batches

    def skip_to(self, offset: int) -> None:
        """Moves the log's end up to `offset`: the leader has no records left in between."""
        if offset > self.log.end_offset:
            self.log.skip_to(offset)
            if self._fsync:
                self._flusher.request(self)

    def cut(self, found: Divergence) -> None:
        """Truncates the log to where it agrees with the leader's, by the leader's epoch answer."""
        offset = cut_offset(self.log.epochs, self.log.end_offset, found)
        self.cut_to(max(0, offset))

    def cut_to(self, offset: int) -> None:
        end_offset = self.log.end_offset
        if offset >= end_offset:
            return
        if offset < self.high_watermark:
            # Happens only after an unclean election, or damage: the new leader lacks committed
            # records, and this copy must follow it nevertheless.
            self.is_incomplete = True
            log.error(
                "committed records cut off",
                topic=self.topic.name,
                partition=self.index,
                first_offset=offset,
                next_offset=self.high_watermark,
            )
        self.log.truncate_to(offset)
        self._forget_cut()
        log.info(
            "log cut",
            topic=self.topic.name,
            partition=self.index,
            end_offset=self.log.end_offset,
            was=end_offset,
            leader_epoch=self.leader_epoch,
        )

    def restart_at(self, offset: int) -> None:
        """Empties the log and begins it at `offset`, since the leader has nothing older."""
        self.log.reset_to(offset)
        self._forget_cut()

    def _forget_cut(self) -> None:
        self._snapshot = None
        log_ = self.log
        self.high_watermark = min(max(self.high_watermark, log_.start_offset), log_.end_offset)
        self._recall_producers()
        # Waiters may include a copier of this node that awaits the durability of records cut here.
        self.refuse_waiting(LeadershipLost("the awaited records were cut off the log"))

    def adopt(
        self, high_watermark: int, start_offset: int, end_offset: int, *, compared_offset: int
    ) -> None:
        """Adopts the leader's high watermark and start offset; notes whether this copy is whole.

        Records from `compared_offset` on, which lie here from an earlier leader, prove nothing:
        this leader may have others at their offsets.
        """
        if start_offset > self.log.start_offset:
            if start_offset > self.log.end_offset:
                self.restart_at(start_offset)
            else:
                self.advance_start(start_offset)
        compared = min(compared_offset, self.log.end_offset)
        if compared >= end_offset:
            self.is_incomplete = False
        self._advance(min(high_watermark, compared))
