"""Numbered records from a client that never gives up, and the proof that all of them are there.

Every partition gets the numbers 0, 1, 2, … in order. Whatever happens to the node, the log of
a partition must therefore hold exactly these numbers, without a gap and without a repetition,
at least up to the last one that was acknowledged.
"""

import random
import time
from threading import Event, Thread
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer
from tests.harness.wire import Wire

from duolog.records.iterator import iter_batches, iter_records

FLUSH_SECONDS_MAX = 30.0
OUTSTANDING_MAX = 600
RECORDS_PER_BURST = 6
REST_SECONDS = 0.001
DECOMPRESSED_BYTES_MAX = 1 << 24


def payload(partition: int, number: int) -> bytes:
    """The value of a record, which follows from where it belongs."""
    size = 20 + (partition * 31 + number * 7919) % 900
    return b"%d/%d/" % (partition, number) + random.Random(number).randbytes(8) * (size // 8)


class NumberedLoad:
    """An idempotent producer in a thread. It retries through every outage."""

    def __init__(
        self,
        address: str,
        topic: str,
        partitions: int,
        *,
        burst: int = RECORDS_PER_BURST,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """`burst` records go to each partition before it rests."""
        self._topic = topic
        self._burst = burst
        self._rest_seconds = rest_seconds
        self._partitions = partitions
        self.acknowledged = [0] * partitions
        """Per partition, how many records were acknowledged; they are so in order."""
        self._sent = [0] * partitions
        self.failures: list[str] = []
        self.longest_pause_seconds = 0.0
        """Without any acknowledgement."""
        self._last_acknowledged: float | None = None
        self._stopping = Event()
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "batch.num.messages": 50,
                "delivery.timeout.ms": 600_000,
                "request.timeout.ms": 5_000,
                # A frozen node keeps its connections. For so long a client waits for it to
                # speak before it asks another; it would be a minute.
                "socket.timeout.ms": 5_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        self._thread = Thread(target=self._run, name="load", daemon=True)

    @property
    def total(self) -> int:
        return sum(self.acknowledged)

    @property
    def outstanding(self) -> int:
        return sum(self._sent) - sum(self.acknowledged)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._producer.poll(0.001)
            if self.outstanding >= OUTSTANDING_MAX or self.failures:
                continue
            for _ in range(self._burst):
                for partition in range(self._partitions):
                    self._send(partition)
            time.sleep(self._rest_seconds)

    def _send(self, partition: int) -> None:
        number = self._sent[partition]
        self._sent[partition] += 1
        self._producer.produce(
            self._topic,
            payload(partition, number),
            b"%d" % number,
            partition=partition,
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, record: Message) -> None:
        partition = record.partition()
        assert partition is not None
        if error is not None:
            self.failures.append(str(error))
        elif record.key() != b"%d" % self.acknowledged[partition]:
            self.failures.append(f"{record.key()!r} was acknowledged out of order")
        else:
            self.acknowledged[partition] += 1
            self._note_pause(time.monotonic())

    def _note_pause(self, now: float) -> None:
        if self._last_acknowledged is not None:
            pause = now - self._last_acknowledged
            self.longest_pause_seconds = max(pause, self.longest_pause_seconds)
        self._last_acknowledged = now

    def wait_for_progress(self, seconds_max: float = 30.0, records: int = 1) -> None:
        """Until more was acknowledged than now."""
        wanted = self.total + records
        deadline = time.monotonic() + seconds_max
        while self.total < wanted:
            assert not self.failures, self.failures[:3]
            assert time.monotonic() < deadline, "nothing is acknowledged any more"
            time.sleep(0.002)

    def wait_for_progress_everywhere(self, seconds_max: float) -> None:
        """Until more was acknowledged than now in each of the partitions."""
        before = list(self.acknowledged)
        deadline = time.monotonic() + seconds_max
        while stuck := [at for at, count in enumerate(before) if self.acknowledged[at] == count]:
            assert not self.failures, self.failures[:3]
            assert time.monotonic() < deadline, f"nothing is acknowledged any more in {stuck}"
            time.sleep(0.002)

    def finish(self) -> None:
        """Stop producing and wait until everything that was sent is acknowledged."""
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(FLUSH_SECONDS_MAX)
        assert left == 0, f"{left} records were never acknowledged"
        assert not self.failures, self.failures[:3]
        assert self.outstanding == 0

    def __enter__(self) -> "NumberedLoad":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if error is not None:
            self._producer.purge()


def read_values(address: str, topic: str, partition: int) -> list[bytes]:
    """The values of a partition from its start to its end, whose offsets must have no gap."""
    values: list[bytes] = []
    with Wire(address) as wire:
        while True:
            code, data = wire.fetch(topic, partition, len(values), bytes_max=4 << 20)
            assert code == 0, f"reading offset {len(values)} was refused with {code}"
            if not data:
                return values
            for _, batch in iter_batches(data):
                for record in iter_records(batch, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX):
                    assert record.offset == len(values), "the offsets have a gap"
                    assert record.value is not None
                    values.append(record.value)


def check_numbered(address: str, topic: str, acknowledged: list[int]) -> None:
    """Everything acknowledged is there once, in order, byte for byte."""
    for partition, count in enumerate(acknowledged):
        values = read_values(address, topic, partition)
        assert len(values) >= count, (
            f"partition {partition} has {len(values)} records of {count} acknowledged ones"
        )
        for number, value in enumerate(values):
            assert value == payload(partition, number), (
                f"offset {number} of partition {partition} holds {value[:40]!r}"
            )
