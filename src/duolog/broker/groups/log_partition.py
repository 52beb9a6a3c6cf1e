"""One copy of a partition of the offsets topic, as its records are read and summed up."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from duolog.broker.damage import past_damage

if TYPE_CHECKING:
    from duolog.broker.partition import Partition
    from duolog.log.segment import Segment
    from duolog.ports.disk import Disk

SNAPSHOT = "groups"


class LogPartition:
    """StoredPartition over the log of a partition that this node leads or follows."""

    def __init__(
        self, partition: "Partition", node: int, disk: "Disk", decompressed_bytes_max: int
    ) -> None:
        self._node = node
        self._partition = partition
        self._log = partition.log
        self._disk = disk
        self.index = partition.index
        self.decompressed_bytes_max = decompressed_bytes_max

    @property
    def identity(self) -> object:
        return self._log

    @property
    def is_in_sync(self) -> bool:
        return self._node in self._partition.in_sync

    @property
    def start_offset(self) -> int:
        return self._log.start_offset

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def settled_offset(self) -> int:
        return min(self._partition.high_watermark, self._log.durable_offset)

    def epoch_before(self, offset: int) -> int:
        return self._partition.epoch_before(offset)

    def version(self) -> "tuple[Segment, ...]":
        return tuple(self._log.segments)

    def is_version(self, version: object) -> bool:
        assert isinstance(version, tuple)
        return not any(segment.deleted for segment in version)

    def batches(self, offset: int, bytes_max: int) -> Iterator[memoryview]:
        return self._log.batches(offset, bytes_max)

    def past_damage(self, offset: int) -> int:
        return past_damage(self._log, offset)

    async def snapshot(self, at_most: int) -> tuple[int, bytes] | None:
        log = self._log
        return await self._disk.offload(lambda: log.latest_snapshot(SNAPSHOT, at_most))

    async def write_snapshot(self, offset: int, data: bytes) -> None:
        await self._disk.offload(self._log.snapshot_writing(SNAPSHOT, offset, data))
