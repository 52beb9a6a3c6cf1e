"""One copy of an offsets partition over a real log on a fake disk, all of it committed."""

from duolog.broker.groups.log_partition import LogPartition
from duolog.config.topic import TopicConfig
from duolog.log.log import Log
from duolog.ports.disk import Disk
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.record import Record

PATH = "offsets-0"
NOW_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
COMPACTED = TopicConfig(
    cleanup_delete=False,
    cleanup_compact=True,
    segment_bytes=1_500,
    index_interval_bytes=150,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=DAY_MS,
)

KeyValue = tuple[bytes, bytes | None]


class LogCopy:
    """Stands for broker/partition.py where only its log is read."""

    in_sync = (1,)

    def __init__(self, disk: Disk, config: TopicConfig = COMPACTED, *, index: int = 0) -> None:
        self.index = index
        self.disk = disk
        self._config = config
        self.epoch = 0
        self.now_ms = NOW_MS
        self.log = self._open(0)
        self.log.assign_epoch(0)

    @property
    def stored(self) -> LogPartition:
        return LogPartition(self, 1, self.disk, 1 << 20)  # type: ignore[arg-type]

    @property
    def high_watermark(self) -> int:
        return self.log.end_offset

    def epoch_before(self, offset: int) -> int:
        return -1 if offset <= self.log.start_offset else self.log.epoch_at(offset - 1)

    def append(self, *records: KeyValue, control: bool = False) -> None:
        found = [Record(key, value, timestamp=self.now_ms) for key, value in records]
        batch = build_batch(found, control=control)
        self.log.append(memoryview(batch), read_header(batch), self.epoch, self.now_ms)
        self.sync()

    def sync(self) -> None:
        targets, end_offset = self.log.begin_sync()
        for target in targets:
            target.sync()
        self.log.finish_sync(end_offset)

    def elect(self) -> None:
        self.epoch += 1
        self.log.assign_epoch(self.epoch)

    def cut(self, offset: int) -> None:
        """Truncates as a follower of the next leader does."""
        self.log.truncate_to(offset)
        self.elect()

    def compact(self) -> None:
        if self.log.segments[-1].size:
            self.log.roll()
        self.sync()
        plan = self.log.plan_compaction(self.now_ms)
        if plan is not None:
            self.log.swap(plan.build())

    def restart(self) -> None:
        self.log.close(self.now_ms)
        self.log = self._open(self.log.durable_offset)

    def _open(self, recovery_point: int) -> Log:
        return Log.open(
            self.disk, PATH, self._config, recovery_point=recovery_point, now_ms=self.now_ms
        )
