"""A broker whose use is metered, on a fake disk and fake counter files, through restarts."""

import json
from typing import Any

from tests.fakes.broker import start_broker
from tests.fakes.counter_files import FakeCounterFiles
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock
from tests.harness.usage import lines_in

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.usage.metering import Metering, usage_topic
from duolog.broker.usage.topic import UsageTopic
from duolog.core.usage.periods import HOUR_MS
from duolog.model.names import USAGE_TOPIC
from duolog.records.builder import build_batch
from duolog.records.iterator import iter_records
from duolog.records.record import Record

TENANT = "000000000000"
INTERVAL_MS = 5_000


class UsageBench:
    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.disk = FakeDisk()
        self.files = FakeCounterFiles()
        self.clock = SetClock()
        # In the middle of an hour, so that none ends by chance.
        self.clock.at_ms = -self.clock.now_ms() % HOUR_MS + HOUR_MS // 2
        self.queues: set[str] = set()
        self.starts = 0
        self.broker: Broker
        self.metering: Metering
        self.topic: UsageTopic

    async def start(self) -> "UsageBench":
        """Also after a crash: nothing of the last process is told that it is over."""
        self.starts += 1
        self.broker = await start_broker(
            self.disk, self.store, clock=self.clock, prepare=self._prepare
        )
        self.topic = usage_topic(self.broker, None)
        self.metering.start(self.topic, self.queues.__contains__, is_only_node=True)
        for task in self.metering.tasks:
            # Time does not pass by itself: what they would do is done by `pass_interval`.
            task.cancel()
        return self

    def _prepare(self, broker: Broker) -> None:
        self.metering = Metering(
            broker,
            self.files,
            tenant=TENANT,
            interval_ms=INTERVAL_MS,
            new_journal=f"{self.starts:032x}",
        )

    @property
    def journal(self) -> Any:
        return self.metering._journal

    @property
    def sender(self) -> Any:
        return self.metering._sender

    @property
    def stored(self) -> Any:
        return self.metering._stored

    def send(self, queue: str, messages: int = 1) -> None:
        self.broker.meter.queue_tally(queue).sent.count(messages, 10 * messages)

    async def create(self, topic: str) -> Partition:
        await self.broker.catalog.create_topic(topic, 1, {})
        return self.broker.partition(topic, 0)

    def produce(self, partition: Partition, values: int) -> None:
        now_ms = self.clock.now_ms()
        batch = build_batch([Record(value=b"x", timestamp=now_ms)] * values)
        if partition.produced.cells is None:
            partition.produced.expect()
        partition.append_alone(memoryview(batch), now_ms)

    def send_here(self, partition: Partition, values: int) -> None:
        """As a queue appends what came by its own door."""
        now_ms = self.clock.now_ms()
        batch = build_batch([Record(value=b"x", timestamp=now_ms)] * values)
        if partition.produced.is_used:
            partition.produced.skip(partition.end_offset + values, len(batch))
        partition.append_alone(memoryview(batch), now_ms)

    async def pass_interval(self, ms: int = INTERVAL_MS) -> None:
        self.clock.at_ms += ms
        await self.metering.meter._make_spare()
        self.metering.meter.cut(self.clock.now_ms())

    async def send_all(self) -> None:
        while self.journal.waiting:
            assert await self.sender.send_next()

    def lines(self) -> list[dict[str, Any]]:
        """Of the log, whether committed or not."""
        if USAGE_TOPIC not in self.broker.catalog.topics:
            return []
        log = self.broker.partition(USAGE_TOPIC, 0).log
        return [
            line
            for batch in log.batches(0, 1 << 24)
            for record in iter_records(batch, decompressed_bytes_max=1 << 24)
            for line in lines_in(json.loads(record.value or b""))
        ]

    def told(self, *fields: str) -> list[tuple[Any, ...]]:
        return [tuple(line[field] for field in fields) for line in self.lines()]
