"""Produce: stages every batch of a read event, writes once per partition, answers in order.

The hot path. Batches are memoryviews of the connection's receive buffer; they are written to the
log before the read event ends, so nothing is copied and nothing outlives the buffer.
"""

from typing import TYPE_CHECKING

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.waiting import Waiter
from duolog.core.usage.partition_tally import PartitionTally
from duolog.kafka_api.handlers.produce_lane import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    Lane,
    LaneAnswer,
    encode_refused,
    not_confirmed,
    refused,
)
from duolog.model.errors import (
    CorruptBatch,
    InvalidRequiredAcks,
    InvalidTopic,
    Refusal,
    StorageFailed,
    TransactionsUnsupported,
)
from duolog.observe.metrics import OperationStats
from duolog.ports.clock import Clock
from duolog.ports.transport import Chunk
from duolog.records.header import NO_TIMESTAMP
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import response_prefix
from duolog.wire.kafka.produce import (
    TEMPLATES_FROM,
    Produced,
    ProduceRequest,
    Topic,
    encode_response,
    parse_request,
    records_after,
    shape_of,
)

if TYPE_CHECKING:
    from duolog.kafka_api.connection import Connection


class ProduceAnswer:
    """The answer to one Produce request: ready when all of its partitions have settled."""

    __slots__ = (
        "_acks",
        "_broker",
        "_connection",
        "_correlation_id",
        "_topics",
        "_version",
        "results",
        "started_ns",
        "stats",
        "timeout_ms",
        "unsettled",
    )

    is_produce = True

    def __init__(
        self,
        broker: Broker,
        connection: "Connection",
        version: int,
        correlation_id: int,
        request: ProduceRequest,
        topics: list[tuple[Topic, list[Produced]]],
        stats: OperationStats,
        started_ns: int,
    ) -> None:
        self._broker = broker
        self._connection = connection
        self._version = version
        self._correlation_id = correlation_id
        self._acks = request.acks
        self._topics = topics
        self.timeout_ms = request.timeout_ms
        self.stats = stats
        self.started_ns = started_ns
        self.results: list[_PartitionResult] = []
        self.unsettled = 0

    @property
    def ready(self) -> bool:
        return self.unsettled == 0

    def settled(self) -> None:
        self.unsettled -= 1
        if self.unsettled == 0:
            self._connection.answer_ready()

    def time_out(self) -> None:
        for result in self.results:
            result.settle(not_confirmed())

    def append_to(self, chunks: list[Chunk]) -> None:
        failed = any(result[1] for _, partitions in self._topics for result in partitions)
        if failed:
            self.stats.failed += 1
        if self._acks == ACKS_NONE:
            if failed:
                self._connection.refuse_unacknowledged()
            return
        if failed:
            body = encode_refused(self._broker, self._version, self._topics)
        else:
            body = encode_response(self._version, self._topics)
        chunks.append(
            response_prefix(ApiKey.PRODUCE, self._version, self._correlation_id, len(body)) + body
        )

    def abandon(self) -> None:
        """Do nothing: the records stay, there is only no client left to tell."""


class _PartitionResult:
    """Waits for one partition's outcome and writes it to its row of the answer."""

    __slots__ = ("_answer", "_at", "_is_settled", "_partitions", "_tally")

    def __init__(
        self, answer: ProduceAnswer, partitions: list[Produced], tally: PartitionTally
    ) -> None:
        self._answer = answer
        self._partitions = partitions
        self._tally = tally
        self._at = len(partitions)
        self._is_settled = False
        answer.results.append(self)
        answer.unsettled += 1

    def settle(self, failure: Refusal | None) -> None:
        if self._is_settled:
            return
        self._is_settled = True
        if failure is not None:
            self._partitions[self._at] = refused(self._partitions[self._at][0], failure)
            self._tally.fail(requests=0)
        self._answer.settled()


class ProduceHandler:
    """Shared by all connections of a door, because a read event ends before the next begins."""

    def __init__(self, broker: Broker, clock: Clock, stats: OperationStats) -> None:
        self._broker = broker
        self._routes = broker.routes
        self._clock = clock
        self._monotonic_ns = clock.monotonic_ns
        self._liveness = broker.liveness
        self._now = clock.now_ms
        self._stats = stats
        self._now_ms = 0
        self.staged: list[tuple[Partition, int, int, Waiter]] = []
        """Staged batches: the partition, its end offset behind the batch, acks, and the waiting
        answer."""
        self._touched: dict[Partition, None] = {}

    def stage(
        self,
        connection: "Connection",
        version: int,
        correlation_id: int,
        frame: memoryview,
        shape_at: int,
        position: int,
        end: int,
        now_ns: int,
    ) -> ProduceAnswer:
        """Check and stage the request's batches. `write` must follow in the same read event.

        `shape_at` is the position behind the frame's correlation id: if more requests of this shape
        may follow, the connection is given a lane for them.
        """
        if not self.staged:
            self._now_ms = self._clock.now_ms()
        now_ms = self._now_ms
        request = parse_request(version, frame, position, end)
        acks = request.acks
        topics: list[tuple[Topic, list[Produced]]] = []
        answer = ProduceAnswer(
            self._broker,
            connection,
            version,
            correlation_id,
            request,
            topics,
            self._stats,
            now_ns,
        )
        for topic, wanted in request.topics:
            partitions: list[Produced] = []
            topics.append((topic, partitions))
            for index, records in wanted:
                try:
                    partition = self._partition(topic, index, acks)
                    if records is None:
                        raise CorruptBatch("the request holds no records")
                    if request.transactional_id is not None:
                        raise TransactionsUnsupported("transactions are not supported")
                    if partition.produced.cells is None:
                        partition.produced.expect()
                    base_offset, end_offset = partition.stage(records, now_ms)
                except Refusal as refusal:
                    partitions.append(refused(index, refusal))
                    known = self._routes.get((topic, index))
                    if known is not None:
                        known.produced.fail()
                    continue
                result = _PartitionResult(answer, partitions, partition.produced)
                self._touched[partition] = None
                self.staged.append((partition, end_offset if acks else 0, acks, result))
                append_time = now_ms if partition.stamps_append_time else NO_TIMESTAMP
                start_offset = partition.log.start_offset
                partitions.append((index, 0, base_offset, append_time, start_offset, None))
        if answer.unsettled == 1 and acks != ACKS_NONE and version >= TEMPLATES_FROM:
            shape = shape_of(version, request, frame, shape_at, end)
            if shape is not None:
                connection.add_lane(
                    Lane(
                        self._broker,
                        connection,
                        version,
                        request,
                        shape,
                        topic,
                        partition,
                        self._stats,
                    )
                )
        return answer

    def stage_on(
        self,
        lane: Lane,
        correlation_id: int,
        frame: memoryview,
        position: int,
        end: int,
        now_ns: int,
    ) -> LaneAnswer | None:
        """Stage a frame that begins with the lane's shape, which ends at `position`.

        Returns None, with nothing done, if the rest of the frame is not as the lane expects.
        """
        records = records_after(lane.version, frame, position, end)
        if records is None:
            return None
        staged = self.staged
        if not staged:
            self._now_ms = self._clock.now_ms()
        now_ms = self._now_ms
        partition = lane.partition
        answer = LaneAnswer(lane, correlation_id, now_ns)
        if partition.produced.cells is None:
            partition.produced.expect()
        try:
            if lane.acks == ACKS_ALL:
                partition.check_in_sync()
            answer.base_offset, end_offset = partition.stage(records, now_ms)
        except Refusal as refusal:
            answer.settle(refusal)
            return answer
        if partition.stamps_append_time:
            answer.append_time = now_ms
        self._touched[partition] = None
        staged.append((partition, end_offset, lane.acks, answer))
        return answer

    def serve_on(
        self, lane: Lane, correlation_id: int, frame: memoryview, end: int
    ) -> bytes | LaneAnswer | None:
        """Serve the only frame of a read event on a lane, with a write of its own.

        Returns the response if it can be sent now, the answer if it has to wait, or None, with
        nothing done, if the frame is not as the lane expects.
        """
        records = records_after(lane.version, frame, lane.shape_end, end)
        if records is None:
            return None
        started_ns = self._monotonic_ns()
        if started_ns >= self._liveness.until_ns:
            self._liveness.look()
        now_ms = self._now()
        partition = lane.partition
        if partition.produced.cells is None:
            partition.produced.expect()
        try:
            if lane.acks == ACKS_ALL:
                partition.check_in_sync()
            base_offset, end_offset = partition.append_alone(records, now_ms)
        except Refusal as refusal:
            answer = LaneAnswer(lane, correlation_id, started_ns)
            answer.settle(refusal)
            return answer
        append_time = now_ms if partition.stamps_append_time else NO_TIMESTAMP
        if partition.high_watermark < end_offset:
            answer = LaneAnswer(lane, correlation_id, started_ns)
            answer.base_offset = base_offset
            answer.append_time = append_time
            if lane.acks == ACKS_ALL:
                partition.wait_committed(end_offset, answer)
            else:
                partition.wait_durable(end_offset, answer)
            return answer
        lane.stats.done(started_ns, self._monotonic_ns())
        return lane.success.encode(
            correlation_id, base_offset, append_time, partition.log.start_offset
        )

    def write(self) -> None:
        """Write the batches that the read event staged. Afterwards each answer is ready, or
        waits."""
        failures: dict[Partition, StorageFailed] | None = None
        for partition in self._touched:
            try:
                partition.write_staged(self._now_ms)
            except StorageFailed as failure:
                failures = failures or {}
                failures[partition] = failure
        self._touched.clear()
        for partition, end_offset, acks, waiter in self.staged:
            if failures is not None and partition in failures:
                waiter.settle(failures[partition])
            elif partition.high_watermark >= end_offset:
                waiter.settle(None)
            elif acks == ACKS_ALL:
                partition.wait_committed(end_offset, waiter)
            else:
                partition.wait_durable(end_offset, waiter)
        self.staged.clear()

    def _partition(self, topic: Topic, index: int, acks: int) -> Partition:
        """The partition, checked to accept a request with these acks."""
        partition = self._routes.get((topic, index))
        if partition is None:
            raise self._broker.unknown(topic, index)
        if partition.topic.internal:
            raise InvalidTopic(f"{partition.topic.name} is internal")
        if acks == ACKS_ALL:
            partition.check_in_sync()
        elif acks not in (ACKS_LEADER, ACKS_NONE):
            raise InvalidRequiredAcks(f"acks is {acks}; it must be 0, 1 or -1")
        return partition
