"""The newest record of each key in a prefix of a partition: all that its groups need of it.

Pure: broker/groups/prefix.py reads the log and folds in its batches. Several readers may take
turns, since each step leaves an offset at which any of them can go on.
"""

from collections.abc import Generator

from duolog.records.body import open_body, walk
from duolog.records.header import BatchHeader

NO_EPOCH = -1

STEP_RECORDS = 64
"""Records between two steps; reading so many takes about 0.1 ms."""
RECORD_BYTES_OVERHEAD = 200
"""Memory of one record, on average, beyond the bytes of its key and value."""


class NewestRecords:
    __slots__ = (
        "content_bytes",
        "dense_from",
        "epoch",
        "is_doubtful",
        "offset",
        "start_offset",
        "values",
        "version",
    )

    def __init__(self, start_offset: int) -> None:
        self.values: dict[bytes, bytes] = {}
        """Newest value by key; a key whose newest record is a tombstone is not there."""
        self.start_offset = start_offset
        """First offset of the log when reading began."""
        self.offset = start_offset
        """End of what was read: the next offset to read."""
        self.epoch = NO_EPOCH
        """Leader epoch of the last record read; NO_EPOCH if there is none."""
        self.dense_from = start_offset
        """Offset from which on no record may be missing.

        One that compaction has removed may have been a tombstone, whose key would stay for ever.
        Below the offset, everything was read from one version of the log.
        """
        self.version: object = None
        """The log's version as reading began, while `offset` is below `dense_from`."""
        self.is_doubtful = False
        """True if damage was skipped, or the log's epochs are not those of its records: such a
        result serves whoever needs it now, and is read anew by the next."""
        self.content_bytes = 0
        """Upper bound of the bytes of all keys and values."""

    @property
    def size_bytes(self) -> int:
        return self.content_bytes + RECORD_BYTES_OVERHEAD * len(self.values)

    def restart(self, start_offset: int, end_offset: int, version: object) -> None:
        """Forgets everything, to read the log anew from its start."""
        self.values.clear()
        self.start_offset = self.offset = start_offset
        self.epoch = NO_EPOCH
        self.dense_from, self.version = end_offset, version
        self.is_doubtful = False
        self.content_bytes = 0

    def lacks_before(self, header: BatchHeader) -> bool:
        """True if records are missing in the batch or before it that must not be."""
        return header.next_offset > self.dense_from and (
            header.base_offset > self.offset or header.record_count != header.last_offset_delta + 1
        )

    def fold(
        self, header: BatchHeader, batch: memoryview, *, decompressed_bytes_max: int
    ) -> Generator[None, None, None]:
        """Reads one batch, step by step; ends early if another reader went on meanwhile."""
        if not header.is_control:
            body = open_body(header, batch, decompressed_bytes_max=decompressed_bytes_max)
            self.content_bytes += len(body)
            begun_offset, values = self.offset, self.values
            read = 0
            for offset, _, key, value_at, value_end, _, _ in walk(header, body):
                if offset < begun_offset:
                    continue
                assert key is not None, "a compacted topic takes no other"
                if value_at < 0:
                    values.pop(key, None)
                else:
                    values[key] = body[value_at:value_end]
                read += 1
                if read % STEP_RECORDS == 0:
                    self.offset, self.epoch = offset + 1, header.leader_epoch
                    yield
                    if self.offset != offset + 1:
                        return
        self.offset, self.epoch = header.next_offset, header.leader_epoch
        yield

    def skip_to(self, offset: int, epoch: int) -> None:
        """Goes on behind records that are not there any more, or damaged."""
        self.offset, self.epoch = offset, epoch
