"""Members of a consumer group that read numbered records and commit, through every outage."""

import time
from collections import defaultdict
from threading import Event, Lock, Thread

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from tests.harness.load import payload

RECORDS_PER_COMMIT = 100
POLL_SECONDS = 0.2
LOOK_SECONDS_MAX = 5.0
JOIN_SECONDS_MAX = 30.0


class CommittedOffsets:
    """Per partition, how far commits were acknowledged. Nobody may find less afterwards."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: defaultdict[int, int] = defaultdict(int)
        self.commits = 0
        self.failures: list[str] = []

    def snapshot(self) -> dict[int, int]:
        with self._lock:
            return dict(self._known)

    def acknowledged(self, partition: int, offset: int) -> None:
        with self._lock:
            self._known[partition] = max(offset, self._known[partition])
            self.commits += 1

    def check(self, before: dict[int, int], found: dict[int, int]) -> None:
        """What was found must be at least what was acknowledged before one looked."""
        for partition, offset in found.items():
            if offset < before.get(partition, 0):
                self.failures.append(
                    f"partition {partition} was committed up to {before[partition]},"
                    f" and later only to {offset}"
                )


class Member(Thread):
    """Commits what it has read now and then, and looks where the group is when it joins."""

    def __init__(self, bootstrap: str, topic: str, group: str, offsets: CommittedOffsets) -> None:
        super().__init__(daemon=True, name=f"member of {group}")
        self._topic = topic
        self._offsets = offsets
        self._stopping = Event()
        self._next: dict[int, int] = {}
        self.received = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "socket.timeout.ms": 5_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        try:
            self._consumer.subscribe([self._topic], on_assign=self._assigned)
            while not self._stopping.is_set():
                record = self._consumer.poll(POLL_SECONDS)
                if record is not None and record.error() is None:
                    self._received(record)
            self._consumer.close()
        except Exception as error:
            self._offsets.failures.append(f"a member ended: {error!r}")
            raise

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._next = {}
        before = self._offsets.snapshot()
        try:
            found = consumer.committed(places, timeout=LOOK_SECONDS_MAX)
        except KafkaException:
            return
        self._offsets.check(before, {each.partition: max(each.offset, 0) for each in found})

    def _received(self, record: Message) -> None:
        partition, offset = record.partition(), record.offset()
        assert partition is not None
        assert offset is not None
        if not self.is_right(record):
            self._offsets.failures.append(f"offset {offset} of {partition} has another record")
        if offset > self._next.get(partition, offset):
            self._offsets.failures.append(f"partition {partition} leaped to offset {offset}")
        self._next[partition] = offset + 1
        self.received += 1
        if self.received % RECORDS_PER_COMMIT == 0:
            self._commit()

    def is_right(self, record: Message) -> bool:
        """Whether this record belongs where it was found."""
        return record.value() == payload(record.partition() or 0, record.offset() or 0)

    def _commit(self) -> None:
        places = [TopicPartition(self._topic, at, offset) for at, offset in self._next.items()]
        try:
            done = self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return
        for place in done or ():
            if place.error is None:
                self._offsets.acknowledged(place.partition, place.offset)

    def stop(self) -> None:
        self._stopping.set()


class GroupLoad:
    """A context manager: members that read until the end."""

    def __init__(
        self, bootstrap: str, topic: str, group: str, members: int, kind: type[Member] = Member
    ) -> None:
        self._bootstrap, self._topic, self._group = bootstrap, topic, group
        self.offsets = CommittedOffsets()
        self._members = [kind(bootstrap, topic, group, self.offsets) for _ in range(members)]

    @property
    def received(self) -> int:
        return sum(member.received for member in self._members)

    def check(self) -> None:
        assert not self.offsets.failures, self.offsets.failures[:5]

    def check_committed(self, partitions: int, seconds_max: float = 20.0) -> None:
        """After the last commit: whoever asks finds it."""
        self.check()
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": self._group})
        places = [TopicPartition(self._topic, each) for each in range(partitions)]
        found = consumer.committed(places, timeout=seconds_max)
        consumer.close()
        self.offsets.check(
            self.offsets.snapshot(), {each.partition: max(each.offset, 0) for each in found}
        )
        self.check()

    def wait_for_commit(self, seconds_max: float) -> None:
        wanted = self.offsets.commits + 1
        deadline = time.monotonic() + seconds_max
        while self.offsets.commits < wanted:
            self.check()
            assert time.monotonic() < deadline, "nothing is committed any more"
            time.sleep(0.01)

    def __enter__(self) -> "GroupLoad":
        for member in self._members:
            member.start()
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.stop()
        for member in self._members:
            member.join(JOIN_SECONDS_MAX)
