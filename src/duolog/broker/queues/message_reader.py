"""Reads the records that a queue hands out.

Consumers mostly take messages in the order of the log, so a read fetches a block of them and
the next ones are there already. A record leaves the block when it is taken.
"""

from duolog.broker.partition import Partition
from duolog.log.checked_batches import checked_batches
from duolog.model.errors import CorruptBatch, OffsetOutOfRange
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.observe.logs import get_logger
from duolog.records.iterator import iter_records
from duolog.records.record import Record

BLOCK_BYTES = 64 * 1024
BLOCK_RECORDS_MAX = 4_096
"""A small compressed batch can hold millions."""

log = get_logger("queues")


class MessageReader:
    __slots__ = ("_block", "_partition")

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._block: dict[int, Record] = {}

    def take(self, offset: int) -> Record | None:
        """The record; None when it is gone: expired, deleted by its key, or damaged.

        StorageFailed when the disk cannot be read.
        """
        record = self._block.pop(offset, None)
        if record is None:
            self._fill(offset)
            record = self._block.pop(offset, None)
        return record

    def look(self, offset: int) -> Record | None:
        """As `take`, for somebody who will not be the last to want it."""
        if offset not in self._block:
            self._fill(offset)
        return self._block.get(offset)

    def forget(self) -> None:
        """Give back the memory of a queue that is not read."""
        self._block = {}

    def _fill(self, offset: int) -> None:
        block: dict[int, Record] = {}
        partition = self._partition
        try:
            found = partition.read(offset, BLOCK_BYTES)
            if found is not None:
                for batch in checked_batches(
                    memoryview(partition.load(found)), partition.high_watermark
                ):
                    for record in iter_records(
                        batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX
                    ):
                        assert record.offset is not None
                        if record.offset >= offset:
                            block[record.offset] = record
                            if len(block) >= BLOCK_RECORDS_MAX:
                                break
        except OffsetOutOfRange:
            pass
        except CorruptBatch as error:
            if offset not in block:
                log.error(
                    "a message is damaged and cannot be delivered",
                    topic=partition.topic.name,
                    partition=partition.index,
                    offset=offset,
                    error=str(error),
                )
        self._block = block
