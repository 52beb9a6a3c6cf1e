"""A partition on the fake disk, whose syncs finish when the test says so."""

import uuid
from collections.abc import Sequence

from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.broker.catalog import Topic
from duolog.broker.flusher import Flusher
from duolog.broker.partition import Partition
from duolog.broker.replica import Parts
from duolog.config.topic import parse_topic_config
from duolog.log.log import Log
from duolog.model.errors import Refusal
from duolog.observe.histogram import Histogram
from duolog.ports.disk import Syncable, SyncDone
from duolog.records.builder import build_batch
from duolog.records.record import Record

NOW_MS = 1_700_000_000_000


class SlowDisk(FakeDisk):
    """Holds syncs back until `finish_sync`."""

    def __init__(self) -> None:
        super().__init__()
        self.syncs: list[tuple[Sequence[Syncable], SyncDone]] = []

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        self.syncs.append((list(targets), done))

    def finish_sync(self, failure: OSError | None = None) -> None:
        targets, done = self.syncs.pop(0)
        if failure is None:
            for target in targets:
                target.sync()
        done(failure)


class Outcome:
    """A waiter that keeps how it was settled."""

    def __init__(self) -> None:
        self.settled = False
        self.failure: Refusal | None = None

    def settle(self, failure: Refusal | None) -> None:
        assert not self.settled
        self.settled = True
        self.failure = failure


def topic(**overrides: str) -> Topic:
    written = {name.replace("_", "."): value for name, value in overrides.items()}
    return Topic("t", uuid.UUID(int=1), 1, written, parse_topic_config(written), False, 1)


class Workbench:
    is_only_node = False
    """Whether `produce` appends in one step, as for a request that came alone."""

    def __init__(self, **overrides: str) -> None:
        self.disk = SlowDisk()
        self.failures: list[OSError] = []
        self.topic = topic(**overrides)
        self.open()

    def open(self, recovery_point: int = 0) -> None:
        self.flusher = Flusher(self.disk, SetClock(), Histogram(), self.failures.append)
        log = Log.open(
            self.disk,
            "t-0",
            self.topic.config,
            recovery_point=recovery_point,
            now_ms=NOW_MS,
        )
        self.partition = Partition(
            Parts(self.topic, 0, log, self.flusher, SetClock(), leader_epoch=3),
            decompressed_bytes_max=1 << 20,
        )

    def produce(self, batch: bytes | None = None, at_ms: int = NOW_MS) -> tuple[int, Outcome]:
        """Append one batch; its base offset, and what becomes of it."""
        data = memoryview(bytearray(batch or a_batch()))
        if self.is_only_node:
            base_offset, end_offset = self.partition.append_alone(data, at_ms)
        else:
            base_offset, end_offset = self.partition.stage(data, at_ms)
            self.partition.write_staged(at_ms)
        outcome = Outcome()
        if self.partition.high_watermark >= end_offset:
            outcome.settle(None)
        else:
            self.partition.wait_committed(end_offset, outcome)
        return base_offset, outcome


def a_batch(
    values: Sequence[bytes] = (b"v",),
    *,
    key: bytes | None = b"k",
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    return bytes(
        build_batch(
            [Record(key, value, timestamp=timestamp) for value in values],
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            transactional=transactional,
        )
    )
