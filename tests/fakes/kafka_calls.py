"""Requests to the Kafka door without a connection, at any version.

They go through the table that serves clients: an API that is not in it is not served here.
"""

from typing import Any

from duolog.kafka_api.client import Client
from duolog.kafka_api.dispatch import Dispatch
from duolog.observe.metrics import Metrics
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.frames import parse_response_header
from duolog.wire.kafka.messages import decode_response, encode_request


class Caller:
    """A client of a broker, or of what stands for one."""

    def __init__(self, broker: Any, client_id: str = "test", host: str = "127.0.0.1") -> None:
        self._dispatch = Dispatch(broker, Metrics())
        self._client_id = client_id
        self._host = host

    async def call(self, key: ApiKey, version: int | None = None, /, **fields: Any) -> Any:
        """The response of the newest version, or of the given one."""
        version = APIS[key].max_version if version is None else version
        client = Client(self._client_id, self._host, version)
        body = memoryview(encode_request(key, version, fields))
        answer = self._dispatch.begin(key, 1, client, body)
        frame = memoryview(answer if isinstance(answer, bytes) else await answer)
        _, start = parse_response_header(key, version, frame, 4, len(frame))
        return decode_response(key, version, frame[start:])
