"""The fast lane: one connection that produces to one partition, in requests of one shape.

Nearly every Produce request differs from the previous one only in its records. On a lane only their
length is parsed, and the answer is one packed struct.
"""

from typing import TYPE_CHECKING

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.kafka_api.current_leaders import current_leaders
from duolog.kafka_api.errors import code_of
from duolog.model.errors import Refusal, RequestTimedOut
from duolog.observe.metrics import OperationStats
from duolog.ports.transport import Chunk
from duolog.records.header import NO_TIMESTAMP
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import response_prefix
from duolog.wire.kafka.produce import (
    Produced,
    ProduceRequest,
    SuccessTemplate,
    Topic,
    encode_response,
)

if TYPE_CHECKING:
    from duolog.kafka_api.connection import Connection

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1
NO_OFFSET = -1

SHAPE_AT = 12
"""Position of a frame's shape: behind its size, API key, version and correlation id."""


class Lane:
    __slots__ = (
        "acks",
        "api",
        "broker",
        "connection",
        "index",
        "partition",
        "shape",
        "shape_end",
        "stats",
        "success",
        "timeout_ms",
        "topic",
        "version",
    )

    def __init__(
        self,
        broker: Broker,
        connection: "Connection",
        version: int,
        request: ProduceRequest,
        shape: bytes,
        topic: Topic,
        partition: Partition,
        stats: OperationStats,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.version = version
        self.api = ApiKey.PRODUCE << 16 | version
        """API key and version, as the four bytes after a frame's size."""
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.shape = shape
        self.shape_end = SHAPE_AT + len(shape)
        self.topic = topic
        self.partition = partition
        self.index = partition.index
        self.stats = stats
        self.success = SuccessTemplate(version, topic, partition.index)


class LaneAnswer:
    """The answer to one request on a lane; it waits for the lane's partition itself."""

    __slots__ = (
        "_correlation_id",
        "_failure",
        "_lane",
        "append_time",
        "base_offset",
        "ready",
        "started_ns",
        "stats",
    )

    is_produce = True

    def __init__(self, lane: Lane, correlation_id: int, started_ns: int) -> None:
        self._lane = lane
        self._correlation_id = correlation_id
        self._failure: Refusal | None = None
        self.stats = lane.stats
        self.started_ns = started_ns
        self.base_offset = NO_OFFSET
        self.append_time = NO_TIMESTAMP
        self.ready = False

    @property
    def timeout_ms(self) -> int:
        return self._lane.timeout_ms

    def time_out(self) -> None:
        self.settle(not_confirmed())

    def settle(self, failure: Refusal | None) -> None:
        if self.ready:
            return
        connection = self._lane.connection
        if failure is not None:
            self._failure = failure
            self._lane.partition.produced.fail(requests=1 if self.base_offset == NO_OFFSET else 0)
            connection.drop_lanes()
        self.ready = True
        if not connection.is_serving:
            connection.answer_ready()

    def append_to(self, chunks: list[Chunk]) -> None:
        lane = self._lane
        if self._failure is None:
            chunks.append(
                lane.success.encode(
                    self._correlation_id,
                    self.base_offset,
                    self.append_time,
                    lane.partition.log.start_offset,
                )
            )
            return
        self.stats.failed += 1
        version = lane.version
        rows = [(lane.topic, [refused(lane.index, self._failure)])]
        body = encode_refused(lane.broker, version, rows)
        chunks.append(
            response_prefix(ApiKey.PRODUCE, version, self._correlation_id, len(body)) + body
        )

    def abandon(self) -> None:
        """Do nothing: the records stay, there is only no client left to tell."""


def encode_refused(
    broker: Broker, version: int, topics: list[tuple[Topic, list[Produced]]]
) -> bytes:
    """A response with refusals, and with leader hints for partitions that have moved."""
    codes = [((topic, row[0]), row[1]) for topic, rows in topics for row in rows]
    moved = current_leaders(broker, codes)
    return encode_response(
        version, topics, current_leaders=moved.leaders, node_endpoints=moved.endpoints
    )


def refused(index: int, refusal: Refusal) -> Produced:
    return (index, code_of(refusal), NO_OFFSET, NO_TIMESTAMP, NO_OFFSET, str(refusal))


def not_confirmed() -> RequestTimedOut:
    return RequestTimedOut("the records may or may not become durable")
