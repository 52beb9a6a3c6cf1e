"""A broker that answers what a test tells it to."""

import asyncio
from collections.abc import Callable
from struct import Struct
from typing import Any

from tests.harness.ports import free_port

from duolog.client.errors import Endpoint
from duolog.client.versions import VERSIONS
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import parse_header, response_prefix
from duolog.wire.kafka.messages import decode_request, encode_response

SIZE = Struct(">i")
NODE_ID = 1

HANG_UP = object()
"""Closes the connection instead of answering."""
SILENCE = object()
"""Never answers."""

Answer = Callable[[Any], Any]
"""Of a request: the fields of the response, a whole frame as bytes, HANG_UP or SILENCE."""


class KafkaServer:
    def __init__(self) -> None:
        self.answers: dict[ApiKey, Answer] = {
            ApiKey.API_VERSIONS: self._versions,
            ApiKey.METADATA: self._metadata,
        }
        self.requests: list[tuple[ApiKey, Any]] = []
        self.connections = 0
        self.topics: dict[str, int] = {}
        self.endpoint: Endpoint = ("127.0.0.1", free_port())
        """The same when it is started again."""
        self._writers: list[asyncio.StreamWriter] = []

    def asked(self, api_key: ApiKey) -> list[Any]:
        return [request for key, request in self.requests if key == api_key]

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, *self.endpoint)
        self.endpoint = self._server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
                frame = memoryview(await reader.readexactly(size))
                answer = self._answer(frame)
                if answer is HANG_UP:
                    break
                if answer is not SILENCE:
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    def _answer(self, frame: memoryview) -> Any:
        api_key, version, correlation_id, _, at = parse_header(frame, 0, len(frame))
        request = decode_request(api_key, version, frame[at:])
        self.requests.append((ApiKey(api_key), request))
        answer = self.answers[ApiKey(api_key)](request)
        if not isinstance(answer, dict):
            return answer
        body = encode_response(api_key, version, answer)
        return response_prefix(api_key, version, correlation_id, len(body)) + body

    def _versions(self, request: Any) -> dict[str, Any]:
        return {
            "error_code": 0,
            "api_keys": [
                {"api_key": key, "min_version": version, "max_version": version}
                for key, version in VERSIONS.items()
            ],
        }

    def _metadata(self, request: Any) -> dict[str, Any]:
        host, port = self.endpoint
        names = (
            list(self.topics)
            if request.topics is None
            else [topic.name for topic in request.topics]
        )
        return {
            "brokers": [{"node_id": NODE_ID, "host": host, "port": port}],
            "cluster_id": "test",
            "controller_id": NODE_ID,
            "topics": [self._topic(name) for name in names],
        }

    def _topic(self, name: str) -> dict[str, Any]:
        if name not in self.topics:
            return {"error_code": 3, "name": name}
        partitions = [
            {
                "error_code": 0,
                "partition_index": index,
                "leader_id": NODE_ID,
                "leader_epoch": 0,
                "replica_nodes": [NODE_ID],
                "isr_nodes": [NODE_ID],
            }
            for index in range(self.topics[name])
        ]
        return {"error_code": 0, "name": name, "partitions": partitions}
