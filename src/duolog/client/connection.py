"""One pipelined connection to one broker: responses arrive in the order of the requests."""

import asyncio
import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from struct import Struct
from types import MappingProxyType
from typing import Any, NamedTuple

from duolog.client.errors import (
    ClientError,
    Endpoint,
    Garbled,
    Refused,
    Unreachable,
    endpoint_text,
    reason_of,
)
from duolog.client.versions import VERSIONS
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedMessage
from duolog.wire.kafka.frames import SIZE_BYTES, encode_header, parse_response_header
from duolog.wire.kafka.messages import decode_response, encode_request

Part = bytes | memoryview
"""A piece of a request frame."""

IN_FLIGHT_MAX = 64
"""Maximum number of unanswered requests per connection; further requests wait to be sent."""
FRAME_BYTES_MAX = 128 << 20
CALL_SECONDS_MAX = 30.0
CONNECT_SECONDS_MAX = 5.0

_READ_AHEAD_BYTES = 1 << 20
_JOINED_BYTES_MAX = 64 << 10
"""Largest frame that is joined into one write; copying a larger one costs more than a packet."""
_SIZE = Struct(">i")
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class _Call(NamedTuple):
    correlation_id: int
    api_key: ApiKey
    answer: asyncio.Future[Any]


class Connection:
    """A connection opened by `connect`. After it fails, every call raises the failure's cause."""

    def __init__(
        self,
        endpoint: Endpoint,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        client_id: str,
        frame_bytes_max: int,
    ) -> None:
        self._endpoint = endpoint
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._frame_bytes_max = frame_bytes_max
        self._correlation_ids = itertools.count(1)
        self._slots = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._waiting: deque[_Call] = deque()
        self._failure: ClientError | None = None
        self._served: Mapping[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 0)}
        self._receiving = asyncio.create_task(self._receive())

    @property
    def is_open(self) -> bool:
        return self._failure is None

    async def call(
        self,
        api_key: ApiKey,
        fields: Mapping[str, Any] = _NO_FIELDS,
        *,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> Any:
        """Sends a request in the version that versions.py names, and returns kio's response."""
        body = encode_request(api_key, self._version(api_key), fields)
        return await self.call_encoded(api_key, [body], seconds_max=seconds_max)

    async def call_encoded(
        self,
        api_key: ApiKey,
        body: Sequence[Part],
        *,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> Any:
        """Sends a request body that is encoded already, in the version that versions.py names."""
        version = self._version(api_key)
        try:
            async with asyncio.timeout(seconds_max), self._slots:
                return await self._exchange(api_key, version, body)
        except TimeoutError:
            # Responses come in order: none behind the missing one can arrive sooner.
            failure = Unreachable(self._endpoint, f"did not answer within {seconds_max:g} s")
            self._fail(failure)
            raise failure from None

    def close(self) -> None:
        self._fail(Unreachable(self._endpoint, "was disconnected by this client"))
        self._receiving.cancel()

    async def learn_versions(self) -> None:
        response = await self.call(ApiKey.API_VERSIONS, seconds_max=CONNECT_SECONDS_MAX)
        self._served = {
            each.api_key: (each.min_version, each.max_version) for each in response.api_keys
        }

    def _version(self, api_key: ApiKey) -> int:
        version = VERSIONS[api_key]
        lowest, highest = self._served.get(api_key, (0, -1))
        if not lowest <= version <= highest:
            raise Refused(
                "UNSUPPORTED_VERSION",
                f"node {endpoint_text(self._endpoint)}",
                f"{APIS[api_key].name} version {version} is not served",
            )
        return version

    async def _exchange(self, api_key: ApiKey, version: int, body: Sequence[Part]) -> Any:
        if self._failure is not None:
            raise self._failure
        correlation_id = next(self._correlation_ids)
        header = encode_header(api_key, version, correlation_id, self._client_id)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Call(correlation_id, api_key, answer))
        self._write(header, body)
        try:
            await self._writer.drain()
        except OSError as error:
            self._fail(Unreachable(self._endpoint, f"went away: {reason_of(error)}"))
        return await answer

    def _write(self, header: bytes, body: Sequence[Part]) -> None:
        size = len(header) + sum(map(len, body))
        frame: list[Part] = [_SIZE.pack(size) + header, *body]
        if size <= _JOINED_BYTES_MAX:
            self._writer.write(b"".join(frame))
        else:
            for part in frame:
                self._writer.write(part)

    async def _receive(self) -> None:
        try:
            while True:
                (size,) = _SIZE.unpack(await self._reader.readexactly(SIZE_BYTES))
                if not 0 < size <= self._frame_bytes_max:
                    raise MalformedMessage(f"a frame of {size} bytes")
                self._answered(memoryview(await self._reader.readexactly(size)))
        except asyncio.IncompleteReadError:
            self._fail(Unreachable(self._endpoint, "closed the connection"))
        except OSError as error:
            self._fail(Unreachable(self._endpoint, f"went away: {reason_of(error)}"))
        except MalformedMessage as error:
            where = f"the address {endpoint_text(self._endpoint)}"
            self._fail(Garbled(f"{where} does not answer with a Kafka response: {error}"))

    def _answered(self, frame: memoryview) -> None:
        if not self._waiting:
            raise MalformedMessage("a response without a request")
        call = self._waiting[0]
        version = VERSIONS[call.api_key]
        correlation_id, at = parse_response_header(call.api_key, version, frame, 0, len(frame))
        if correlation_id != call.correlation_id:
            raise MalformedMessage("a response to another request")
        response = decode_response(call.api_key, version, frame[at:])
        self._waiting.popleft()
        if not call.answer.done():
            call.answer.set_result(response)

    def _fail(self, failure: ClientError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        self._writer.close()
        for call in self._waiting:
            if not call.answer.done():
                call.answer.set_exception(failure)
        self._waiting.clear()


async def connect(
    endpoint: Endpoint, *, client_id: str, frame_bytes_max: int = FRAME_BYTES_MAX
) -> Connection:
    """Opens a connection and asks the broker which API versions it serves."""
    host, port = endpoint
    try:
        async with asyncio.timeout(CONNECT_SECONDS_MAX):
            reader, writer = await asyncio.open_connection(host, port, limit=_READ_AHEAD_BYTES)
    except TimeoutError:
        raise Unreachable(
            endpoint, f"did not accept a connection within {CONNECT_SECONDS_MAX:g} s"
        ) from None
    except OSError as error:
        raise Unreachable(endpoint, f"cannot be connected to: {reason_of(error)}") from None
    connection = Connection(
        endpoint, reader, writer, client_id=client_id, frame_bytes_max=frame_bytes_max
    )
    try:
        await connection.learn_versions()
    except BaseException:
        connection.close()
        raise
    return connection
