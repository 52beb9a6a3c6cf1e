"""The data directory: its partitions, and the offsets from which recovery scans their logs.

<topic>-<partition>/           the log, and an empty file named after the topic's id
<topic>-<partition>.….deleted/ a partition on its way out
<topic>-<partition>.….stray/   a partition that the catalog does not know
recovery-points                durable end offset of each log, at some checkpoint
recovery-points.recent         the same for logs that have changed since
high-watermarks                last known high watermark of each replicated log
reserve                        room kept for a full disk (broker/reserve.py)
"""

import uuid
from collections.abc import Callable, Iterable
from functools import partial

from duolog.broker.catalog import Topic
from duolog.broker.flusher import Flusher
from duolog.broker.partition import Partition
from duolog.broker.replica import Parts
from duolog.broker.reserve import NO_RESERVE, NoReserve
from duolog.log.checkpoint import (
    RecoveryPoints,
    read_checkpoint,
    read_watermarks,
    write_checkpoint,
    write_recent,
    write_watermarks,
)
from duolog.log.log import Log
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.disk import Disk

TOPIC_ID_PREFIX = "topic-id."
DELETED_SUFFIX = ".deleted"
STRAY_SUFFIX = ".stray"
ROOT = ""

RECENT_POINTS_MIN = 1_000
"""Changed points above which all points are rewritten; a quarter of all, if that is more."""

log = get_logger("storage")


class DataMissing(Exception):
    """A partition that had durable records is not in the data directory."""


class Storage:
    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        flusher: Flusher,
        *,
        decompressed_bytes_max: int,
        new_id: Callable[[], uuid.UUID],
        reserve: NoReserve = NO_RESERVE,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._flusher = flusher
        self._decompressed_bytes_max = decompressed_bytes_max
        self._new_id = new_id
        self._reserve = reserve
        self._points: RecoveryPoints = {}
        """Recovery points by topic id and index: by id, so that a namesake never inherits one."""
        self._recent: RecoveryPoints = {}
        """Points changed since all were last written."""
        self._watermarks: RecoveryPoints = {}
        """High watermarks as last written; only of partitions with several replicas."""
        self._root_changed = False

    def load(self) -> None:
        self._points, self._recent = read_checkpoint(self._disk)
        self._watermarks = read_watermarks(self._disk)

    def open(
        self, topic: Topic, index: int, leader_epoch: int, *, is_sole: bool = True
    ) -> Partition:
        """Opens or creates a partition.

        If its directory is missing although it had durable records: a sole replica raises
        DataMissing; any other begins empty, and is copied again from the leader.
        """
        path = directory_of(topic.name, index)
        topic_id = str(topic.id)
        marker = f"{path}/{TOPIC_ID_PREFIX}{topic_id}"
        recovery_point = self._points.get((topic_id, index), 0)
        is_missing = False
        if not self._disk.exists(marker):
            if self._disk.list_names(path):
                # A deleted topic of the same name, whose deletion this node missed.
                self._set_aside(path)
            elif recovery_point > 0:
                missing = DataMissing(
                    f"partition {index} of topic '{topic.name}' had durable records, and its"
                    f" directory {path} is missing"
                )
                if is_sole:
                    raise missing
                log.error(
                    "partition is missing, copying it from the other replicas", reason=str(missing)
                )
                is_missing = True
                recovery_point = 0
            self._disk.make_directory(path)
            self._root_changed = True
            self._disk.open(marker, create=True).close()
        opened = Log.open(
            self._disk,
            path,
            topic.config,
            recovery_point=recovery_point,
            now_ms=self._clock.now_ms(),
        )
        _report(topic, index, opened)
        committed = None if is_sole else self._watermark_of(topic_id, index, opened)
        partition = Partition(
            Parts(
                topic,
                index,
                opened,
                self._flusher,
                self._clock,
                leader_epoch,
                committed,
                self._reserve,
            ),
            decompressed_bytes_max=self._decompressed_bytes_max,
        )
        partition.is_incomplete = is_missing or opened.is_short
        opened.rest()
        return partition

    def _watermark_of(self, topic_id: str, index: int, opened: Log) -> int:
        """The last known high watermark, within the log's bounds; it advances again from there."""
        known = self._watermarks.get((topic_id, index), opened.start_offset)
        return min(max(known, opened.start_offset), opened.end_offset)

    def remove(self, partition: Partition) -> str:
        """Renames the partition's directory and returns its new path, for the caller to delete."""
        for points in (self._points, self._recent, self._watermarks):
            points.pop(_place_of(partition), None)
        return self._set_aside(directory_of(partition.topic.name, partition.index))

    def leftovers(self, known: Iterable[Partition]) -> list[str]:
        """Directories of deleted partitions whose removal was interrupted.

        A partition unknown to the catalog is set aside, not deleted: the catalog may be older
        than the data.
        """
        mine = {directory_of(partition.topic.name, partition.index) for partition in known}
        deleted = []
        for name in self._disk.list_names(ROOT):
            if name.endswith(DELETED_SUFFIX):
                deleted.append(name)
            elif name not in mine and not name.endswith(STRAY_SUFFIX) and self._is_partition(name):
                log.error(
                    "partition unknown to the catalog set aside; delete it if it is not needed",
                    directory=self._set_aside(name, STRAY_SUFFIX),
                )
        return deleted

    def _is_partition(self, name: str) -> bool:
        return any(each.startswith(TOPIC_ID_PREFIX) for each in self._disk.list_names(name))

    async def sync_root(self) -> None:
        """Makes new and renamed entries of the data directory durable."""
        if self._root_changed:
            self._root_changed = False
            await self._disk.offload(self._disk.directory(ROOT).sync)

    async def write_points(self, partitions: Iterable[Partition]) -> None:
        """Writes all recovery points, so that the next start scans only beyond them."""
        present = tuple(partitions)
        points = _points_of(present)
        if self._recent or points != self._points:
            await self._write_all(points)
        await self._write_watermarks(_watermarks_of(present))

    async def update_points(self, changed: Iterable[Partition]) -> None:
        """Updates the recovery points of partitions that may have changed.

        Writes only changed points while they are few: of many partitions, most are idle.
        """
        changed = tuple(changed)
        await self._write_watermarks(self._watermarks | _watermarks_of(changed))
        points = _points_of(changed)
        known = self._points
        if all(known.get(place) == offset for place, offset in points.items()):
            return
        recent = self._recent | points
        if len(recent) > max(RECENT_POINTS_MIN, len(known) // 4):
            await self._write_all(known | points)
        else:
            await self._disk.offload(partial(write_recent, self._disk, recent))
            known.update(points)
            self._recent = recent

    async def _write_all(self, points: RecoveryPoints) -> None:
        await self._disk.offload(partial(write_checkpoint, self._disk, points))
        self._points = points
        self._recent = {}

    async def _write_watermarks(self, watermarks: RecoveryPoints) -> None:
        if watermarks != self._watermarks:
            await self._disk.offload(partial(write_watermarks, self._disk, watermarks))
            self._watermarks = watermarks

    def _set_aside(self, path: str, suffix: str = DELETED_SUFFIX) -> str:
        aside = f"{path}.{self._new_id().hex}{suffix}"
        self._disk.rename(path, aside)
        self._root_changed = True
        return aside


def _place_of(partition: Partition) -> tuple[str, int]:
    return str(partition.topic.id), partition.index


def _points_of(partitions: Iterable[Partition]) -> RecoveryPoints:
    return {_place_of(partition): partition.log.durable_offset for partition in partitions}


def _watermarks_of(partitions: Iterable[Partition]) -> RecoveryPoints:
    return {
        _place_of(partition): partition.high_watermark
        for partition in partitions
        if partition.is_replicated
    }


def directory_of(topic: str, index: int) -> str:
    return f"{topic}-{index}"


def _report(topic: Topic, index: int, opened: Log) -> None:
    recovery = opened.recovery
    if opened.is_short:
        log.error(
            "durable records are missing",
            topic=topic.name,
            partition=index,
            first_offset=opened.end_offset,
            next_offset=recovery.expected_offset,
        )
    if recovery.truncated_bytes:
        log.warning(
            "torn tail cut",
            topic=topic.name,
            partition=index,
            bytes=recovery.truncated_bytes,
            end_offset=opened.end_offset,
        )
    for damaged in recovery.quarantined:
        log.error(
            "damaged batch quarantined",
            topic=topic.name,
            partition=index,
            first_offset=damaged.first_offset,
            next_offset=damaged.next_offset,
            reason=damaged.reason,
        )
