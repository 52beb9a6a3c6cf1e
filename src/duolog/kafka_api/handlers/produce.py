"""Produce: stage every batch of a read event, write once per partition, answer in order.

The hot path. Batches are memoryviews of the connection's receive buffer; they are written to
the log before the read event ends, so nothing is copied and nothing outlives the buffer.
"""

from typing import TYPE_CHECKING

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.kafka_api.errors import code_of
from duolog.model.errors import (
    CorruptBatch,
    InvalidRequiredAcks,
    InvalidTopic,
    NotEnoughReplicas,
    Refusal,
    StorageFailed,
    TransactionsUnsupported,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from duolog.observe.metrics import OperationStats
from duolog.ports.clock import Clock
from duolog.records.header import NO_TIMESTAMP
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import response_prefix
from duolog.wire.kafka.produce import (
    Produced,
    Topic,
    encode_one,
    encode_response,
    parse_request,
)

if TYPE_CHECKING:
    from duolog.kafka_api.connection import Connection

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1
NO_OFFSET = -1


class ProduceAnswer:
    """The answer to one Produce request: ready when all of its partitions have settled."""

    __slots__ = (
        "_connection",
        "_correlation_id",
        "_started_ns",
        "_stats",
        "_version",
        "acks",
        "topics",
        "waiting",
    )

    is_produce = True

    def __init__(
        self,
        connection: "Connection",
        version: int,
        correlation_id: int,
        acks: int,
        stats: OperationStats,
        started_ns: int,
    ) -> None:
        self._connection = connection
        self._version = version
        self._correlation_id = correlation_id
        self._stats = stats
        self._started_ns = started_ns
        self.acks = acks
        self.topics: list[tuple[Topic, list[Produced]]] = []
        self.waiting = 0

    @property
    def ready(self) -> bool:
        return self.waiting == 0

    def settled(self) -> None:
        """One of the partitions that were waited for is done."""
        self.waiting -= 1
        if self.waiting == 0:
            self._connection.answer_ready()

    def chunks(self) -> tuple[bytes, ...]:
        self._stats.done(self._started_ns, self._connection.now_ns())
        if self.acks == ACKS_NONE:
            if any(result[1] for _, partitions in self.topics for result in partitions):
                self._connection.refuse_unacknowledged()
            return ()
        version = self._version
        topic, partitions = self.topics[0] if len(self.topics) == 1 else ("", ())
        if len(partitions) == 1 and partitions[0][5] is None:
            body = encode_one(version, topic, *partitions[0][:5])
        else:
            body = encode_response(version, self.topics)
        prefix = response_prefix(ApiKey.PRODUCE, version, self._correlation_id, len(body))
        return (prefix + body,)

    def abandon(self) -> None:
        """The records stay; there is only nobody left to tell."""


class _PartitionWaiter:
    """Waits for one partition of a request."""

    __slots__ = ("_answer", "_at", "_partitions")

    def __init__(self, answer: ProduceAnswer, partitions: list[Produced], at: int) -> None:
        self._answer = answer
        self._partitions = partitions
        self._at = at

    def settle(self, failure: Refusal | None) -> None:
        if failure is not None:
            self._partitions[self._at] = _refused(self._partitions[self._at][0], failure)
        self._answer.settled()


_Staged = tuple[Partition, int, ProduceAnswer, list[Produced], int]
"""The partition, the offset to wait for, and where the result stands in which answer."""


class ProduceHandler:
    """Shared by all connections of a door, because a read event ends before the next begins."""

    def __init__(self, broker: Broker, clock: Clock, stats: OperationStats) -> None:
        self._routes = broker.routes
        self._clock = clock
        self._stats = stats
        self._now_ms = 0
        self._staged: list[_Staged] = []
        self._touched: dict[Partition, None] = {}

    def stage(
        self,
        connection: "Connection",
        version: int,
        correlation_id: int,
        frame: memoryview,
        position: int,
        end: int,
        now_ns: int,
    ) -> ProduceAnswer:
        """Check and stage the request's batches. `write` must follow in the same read event."""
        if not self._staged:
            self._now_ms = self._clock.now_ms()
        now_ms = self._now_ms
        request = parse_request(version, frame, position, end)
        acks = request.acks
        answer = ProduceAnswer(connection, version, correlation_id, acks, self._stats, now_ns)
        routes = self._routes
        for topic, wanted in request.topics:
            partitions: list[Produced] = []
            answer.topics.append((topic, partitions))
            for index, records in wanted:
                partition = routes.get((topic, index))
                try:
                    if partition is None or records is None or request.transactional_id:
                        raise _why_not(topic, index, records, partition)
                    if acks == ACKS_ALL:
                        if partition.in_sync_count < partition.topic.config.min_insync_replicas:
                            raise NotEnoughReplicas(
                                "fewer replicas are in sync than min.insync.replicas"
                            )
                    elif acks not in (ACKS_LEADER, ACKS_NONE):
                        raise InvalidRequiredAcks(f"acks is {acks}; it must be 0, 1 or -1")
                    if partition.topic.internal:
                        raise InvalidTopic(f"{partition.topic.name} is internal")
                    base_offset, end_offset = partition.stage(records, now_ms)
                except Refusal as refusal:
                    partitions.append(_refused(index, refusal))
                    continue
                self._touched[partition] = None
                self._staged.append((partition, end_offset, answer, partitions, len(partitions)))
                append_time = now_ms if partition.stamps_append_time else NO_TIMESTAMP
                partitions.append(
                    (index, 0, base_offset, append_time, partition.log.start_offset, None)
                )
        return answer

    @property
    def has_staged(self) -> bool:
        return bool(self._staged)

    def write(self) -> None:
        """Write what the read event staged. Afterwards each answer is ready, or waits."""
        failures: dict[Partition, StorageFailed] = {}
        for partition in self._touched:
            try:
                partition.write_staged(self._now_ms)
            except StorageFailed as failure:
                failures[partition] = failure
        self._touched.clear()
        for partition, end_offset, answer, partitions, at in self._staged:
            if failures and partition in failures:
                partitions[at] = _refused(partitions[at][0], failures[partition])
            elif answer.acks != ACKS_NONE and partition.high_watermark < end_offset:
                partition.wait_committed(end_offset, _PartitionWaiter(answer, partitions, at))
                answer.waiting += 1
        self._staged.clear()


def _refused(index: int, refusal: Refusal) -> Produced:
    return (index, code_of(refusal), NO_OFFSET, NO_TIMESTAMP, NO_OFFSET, str(refusal))


def _why_not(
    topic: Topic, index: int, records: memoryview | None, partition: Partition | None
) -> Refusal:
    if partition is None:
        if isinstance(topic, bytes):
            return UnknownTopicId("no topic has this id, or it has no such partition")
        return UnknownTopicOrPartition(f"there is no partition {index} of topic {topic!r}")
    if records is None:
        return CorruptBatch("there are no records")
    return TransactionsUnsupported("transactions are not supported")
