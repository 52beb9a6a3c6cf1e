"""One connection of a simulated client to one node, speaking the Kafka protocol."""

import asyncio
from collections.abc import Mapping
from struct import Struct
from typing import Any

from duolog.ports.transport import Transport
from duolog.sim.network import ProcessNetwork
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.decoder import decoder
from duolog.wire.kafka.encoder import encoder
from duolog.wire.kafka.frames import encode_header, parse_response_header
from duolog.wire.kafka.messages import decode_response, encode_request
from duolog.wire.kafka.schema import Kind, entity

VERSIONS = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 9,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 7,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.HEARTBEAT: 4,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
}

KINDS: tuple[Kind, ...] = ("request", "response")

CONNECT_SECONDS_MAX = 2.0
BUFFER_BYTES = 8 * 1024

_SIZE = Struct(">i")


def compile_codecs() -> None:
    """Compile the codecs of all APIs used here, once instead of in each forked process."""
    for api, version in VERSIONS.items():
        for kind in KINDS:
            encoder(api, version, kind)
            decoder(entity(api, version, kind))


class LinkLost(Exception):
    """No answer came; the request may or may not have been served."""


class KafkaLink:
    """A Session that expects answers in the order of its requests."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._received = bytearray()
        self._waiting: dict[int, tuple[ApiKey, asyncio.Future[Any]]] = {}
        self._requests = 0
        self.is_open = True

    async def call(
        self, api: ApiKey, fields: Mapping[str, Any], *, seconds_max: float = 5.0
    ) -> Any:
        if not self.is_open:
            raise LinkLost
        self._requests += 1
        version = VERSIONS[api]
        frame = encode_header(api, version, self._requests, "sim")
        frame += encode_request(api, version, fields)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting[self._requests] = (api, answer)
        self._transport.send(_SIZE.pack(len(frame)) + frame)
        # Answers come in order: with one missing, no later one can arrive sooner.
        late = loop.call_later(seconds_max, self.close)
        try:
            return await answer
        finally:
            late.cancel()

    def close(self) -> None:
        self._transport.abort()

    def get_buffer(self) -> memoryview:
        return self._buffer

    def received(self, count: int) -> None:
        received = self._received
        received += self._buffer[:count]
        while len(received) >= _SIZE.size:
            (size,) = _SIZE.unpack_from(received)
            if len(received) < _SIZE.size + size:
                return
            frame = memoryview(bytes(received[_SIZE.size : _SIZE.size + size]))
            del received[: _SIZE.size + size]
            self._answered(frame)

    def drained(self) -> None:
        return

    def closed(self) -> None:
        self.is_open = False
        waiting, self._waiting = self._waiting, {}
        for _, answer in waiting.values():
            if not answer.done():
                answer.set_exception(LinkLost())

    def _answered(self, frame: memoryview) -> None:
        number, (api, answer) = next(iter(self._waiting.items()))
        version = VERSIONS[api]
        correlation, at = parse_response_header(api, version, frame, 0, len(frame))
        assert correlation == number, "an answer to another request"
        del self._waiting[number]
        if not answer.done():
            answer.set_result(decode_response(api, version, frame[at:]))


async def connect(network: ProcessNetwork, host: str, port: int) -> KafkaLink:
    """Raises LinkLost."""
    made: list[KafkaLink] = []

    def new_session(transport: Transport) -> KafkaLink:
        made.append(KafkaLink(transport))
        return made[0]

    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            await network.dial(host, port, new_session)
    except (OSError, TimeoutError):
        raise LinkLost from None
    return made[0]
