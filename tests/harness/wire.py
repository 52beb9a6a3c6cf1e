"""A Kafka client of a few lines that sends exactly what it is told."""

import itertools
import socket
import time
from collections.abc import Mapping
from struct import Struct
from types import TracebackType
from typing import Any

from duolog.records.builder import build_batch
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import encode_header, parse_response_header
from duolog.wire.kafka.messages import decode_response, encode_request

SIZE = Struct(">i")
SECONDS_MAX = 10.0
CLIENT_ID = "test"

PRODUCE_VERSION = 9
FETCH_VERSION = 12
CREATE_TOPICS_VERSION = 5


def connect(address: str, *, seconds_max: float = SECONDS_MAX) -> socket.socket:
    host, port = address.rsplit(":", 1)
    connected = socket.create_connection((host, int(port)), timeout=seconds_max)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def request_frame(
    api_key: int, version: int, fields: Mapping[str, Any], correlation_id: int = 0
) -> bytes:
    """A whole request, with its size."""
    body = encode_request(api_key, version, fields)
    message = encode_header(api_key, version, correlation_id, CLIENT_ID) + body
    return SIZE.pack(len(message)) + message


def produce_fields(topic: str, partition: int, records: bytes, acks: int = -1) -> dict[str, Any]:
    return {
        "transactional_id": None,
        "acks": acks,
        "timeout": 10_000,
        "topic_data": [
            {"name": topic, "partition_data": [{"index": partition, "records": records}]}
        ],
    }


def fetch_fields(
    topic: str,
    partition: int,
    offset: int,
    *,
    bytes_max: int = 1 << 20,
    partition_bytes_max: int | None = None,
    wait_ms_max: int = 0,
) -> dict[str, Any]:
    if partition_bytes_max is None:
        partition_bytes_max = bytes_max
    return {
        "replica_id": -1,
        "max_wait": wait_ms_max,
        "min_bytes": 1,
        "max_bytes": bytes_max,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": partition,
                        "current_leader_epoch": -1,
                        "fetch_offset": offset,
                        "last_fetched_epoch": -1,
                        "log_start_offset": -1,
                        "partition_max_bytes": partition_bytes_max,
                    }
                ],
            }
        ],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def batch_of(values: list[bytes], **more: Any) -> bytearray:
    """A batch of records with these values, written now; `more` as build_batch has it."""
    now_ms = int(time.time() * 1000)
    return build_batch([Record(value=value, timestamp=now_ms) for value in values], **more)


class Wire:
    """One connection. Calls wait for their answer; frames are sent as they are."""

    def __init__(self, address: str, *, seconds_max: float = SECONDS_MAX) -> None:
        self.socket = connect(address, seconds_max=seconds_max)
        self._correlation_ids = itertools.count(1)

    def call(self, api_key: int, version: int, fields: Mapping[str, Any]) -> Any:
        """kio's response."""
        correlation_id = next(self._correlation_ids)
        self.socket.sendall(request_frame(api_key, version, fields, correlation_id))
        frame = self.read_frame()
        assert frame is not None, "the connection was closed instead of an answer"
        view = memoryview(frame)
        answered, position = parse_response_header(api_key, version, view, 0, len(frame))
        assert answered == correlation_id
        return decode_response(api_key, version, view[position:])

    def read_frame(self) -> bytes | None:
        """The next response without its size; None when the connection was closed."""
        size = self._read(SIZE.size)
        return None if size is None else self._read(SIZE.unpack(size)[0])

    def _read(self, count: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < count:
            try:
                data = self.socket.recv(count - len(parts))
            except ConnectionResetError:
                return None
            if not data:
                return None
            parts += data
        return bytes(parts)

    def create_topic(
        self, topic: str, *, partitions: int = 1, configs: Mapping[str, object] | None = None
    ) -> int:
        """The error code."""
        response = self.call(
            ApiKey.CREATE_TOPICS,
            CREATE_TOPICS_VERSION,
            {
                "topics": [
                    {
                        "name": topic,
                        "num_partitions": partitions,
                        "replication_factor": -1,
                        "assignments": [],
                        "configs": [
                            {"name": name, "value": str(value)}
                            for name, value in (configs or {}).items()
                        ],
                    }
                ],
                "timeout": 10_000,
                "validate_only": False,
            },
        )
        return int(response.topics[0].error_code)

    def produce(self, topic: str, partition: int, records: bytes | bytearray) -> tuple[int, int]:
        """Error code and base offset."""
        fields = produce_fields(topic, partition, bytes(records))
        response = self.call(ApiKey.PRODUCE, PRODUCE_VERSION, fields)
        (answer,) = response.responses[0].partition_responses
        return int(answer.error_code), answer.base_offset

    def produce_values(self, topic: str, values: list[bytes], partition: int = 0) -> int:
        """Produce one batch that must be taken; its base offset."""
        code, base_offset = self.produce(topic, partition, batch_of(values))
        assert code == 0, f"produce was refused with {code}"
        return base_offset

    def fetch(self, topic: str, partition: int, offset: int, **more: int) -> tuple[int, bytes]:
        """Error code and record batches."""
        fields = fetch_fields(topic, partition, offset, **more)
        response = self.call(ApiKey.FETCH, FETCH_VERSION, fields)
        assert int(response.error_code) == 0
        (answer,) = response.responses[0].partitions
        return int(answer.error_code), bytes(answer.records or b"")

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
