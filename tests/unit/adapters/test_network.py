"""Connections between nodes behave alike, encrypted or not, and on every event loop."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.harness.certificates import ClusterCertificates

from duolog.adapters.disk import LocalDisk
from duolog.adapters.network import TcpNetwork
from duolog.adapters.tcp import TcpListener
from duolog.ports.network import Network
from duolog.ports.transport import FileRange, Transport

pytestmark = pytest.mark.every_event_loop


class Recorder:
    """A session that keeps what happened to it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.data = bytearray()
        self.drained_count = 0
        self.closed_count = 0
        self._buffer = memoryview(bytearray(65_536))

    def get_buffer(self) -> memoryview:
        return self._buffer

    def received(self, count: int) -> None:
        self.data += self._buffer[:count]

    def drained(self) -> None:
        self.drained_count += 1

    def closed(self) -> None:
        self.closed_count += 1

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.001)

    async def until_received(self, size: int) -> bytes:
        await self.until(lambda: len(self.data) >= size)
        return bytes(self.data)

    async def until_closed(self) -> None:
        await self.until(lambda: self.closed_count > 0)


class Pair:
    """One end that listened and one that dialled."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.accepted: list[Recorder] = []
        self.dialled: list[Recorder] = []
        self.listener: TcpListener

    async def open(self) -> tuple[Recorder, Recorder]:
        self.listener = await self.network.listen("127.0.0.1", 0, self._recorder(self.accepted))
        await self.network.dial(*self.listener.address, self._recorder(self.dialled))
        (here,) = self.dialled
        await here.until(lambda: bool(self.accepted))
        return here, self.accepted[0]

    def close(self) -> None:
        self.listener.stop_accepting()
        self.listener.abort_connections()
        for each in self.dialled:
            each.transport.abort()

    def _recorder(self, kept: list[Recorder]) -> Callable[[Transport], Recorder]:
        def new_session(transport: Transport) -> Recorder:
            kept.append(Recorder(transport))
            return kept[-1]

        return new_session


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> ClusterCertificates:
    return ClusterCertificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=["plain", "encrypted"])
async def pair(
    request: pytest.FixtureRequest, certificates: ClusterCertificates
) -> AsyncIterator[Pair]:
    network = TcpNetwork() if request.param == "plain" else certificates.network(1)
    pair = Pair(network)
    yield pair
    pair.close()


async def test_bytes_go_both_ways(pair: Pair) -> None:
    here, there = await pair.open()
    here.transport.send(b"question")
    assert await there.until_received(8) == b"question"
    there.transport.write([b"an", b"swer"])
    assert await here.until_received(6) == b"answer"


async def test_bytes_and_file_ranges_leave_in_order(pair: Pair, tmp_path: Path) -> None:
    here, there = await pair.open()
    content = os.urandom(3 << 20)
    file = LocalDisk(str(tmp_path)).open("a", create=True)
    file.pwritev([content], 0)
    there.transport.write(
        [b"head", FileRange(file, 10, 2 << 20), b"middle", FileRange(file, 0, 7), b"tail"]
    )
    there.transport.write([b"next"])
    there.transport.send(b"last")
    expected = b"head" + content[10 : 10 + (2 << 20)] + b"middle" + content[:7] + b"tailnextlast"
    assert await here.until_received(len(expected)) == expected


async def test_what_the_socket_does_not_take_is_queued_and_drained(pair: Pair) -> None:
    here, there = await pair.open()
    there.transport.pause_reading()
    data = os.urandom(32 << 20)
    here.transport.send(data)
    here.transport.send(b"more")
    await asyncio.sleep(0.02)
    assert 0 < here.transport.backlog_bytes <= len(data) + 4
    assert here.drained_count == 0
    there.transport.resume_reading()
    assert await there.until_received(len(data) + 4) == data + b"more"
    await here.until(lambda: here.drained_count > 0)
    assert here.transport.backlog_bytes == 0


async def test_a_paused_connection_receives_nothing_until_it_is_resumed(pair: Pair) -> None:
    here, there = await pair.open()
    there.transport.pause_reading()
    here.transport.send(b"hello")
    await asyncio.sleep(0.02)
    assert there.data == b""
    there.transport.resume_reading()
    assert await there.until_received(5) == b"hello"


async def test_a_session_may_take_a_record_in_small_pieces_and_pauses(pair: Pair) -> None:
    """What is decrypted and not taken yet must not be forgotten while reading is paused."""

    class Sipper(Recorder):
        def __init__(self, transport: Transport) -> None:
            super().__init__(transport)
            self._buffer = memoryview(bytearray(1_000))

        def received(self, count: int) -> None:
            super().received(count)
            self.transport.pause_reading()
            asyncio.get_running_loop().call_soon(self.transport.resume_reading)

    sippers: list[Sipper] = []

    def new_session(transport: Transport) -> Sipper:
        sippers.append(Sipper(transport))
        return sippers[-1]

    here, there = await pair.open()
    await pair.network.dial(*pair.listener.address, new_session)
    await here.until(lambda: len(pair.accepted) == 2)
    data = os.urandom(100_000)
    pair.accepted[1].transport.send(data)
    assert await sippers[0].until_received(len(data)) == data
    sippers[0].transport.abort()
    there.transport.abort()


async def test_closing_sends_the_backlog_first(pair: Pair) -> None:
    here, there = await pair.open()
    data = os.urandom(16 << 20)
    here.transport.write([data])
    here.transport.close()
    here.transport.send(b"too late")
    assert await there.until_received(len(data)) == data
    await there.until_closed()
    await here.until_closed()
    assert (here.closed_count, there.closed_count) == (1, 1)


async def test_aborting_drops_the_backlog_and_tells_both(pair: Pair) -> None:
    here, there = await pair.open()
    there.transport.pause_reading()
    here.transport.send(os.urandom(32 << 20))
    here.transport.abort()
    assert here.closed_count == 1
    assert here.transport.backlog_bytes == 0
    there.transport.resume_reading()
    await there.until_closed()
    here.transport.abort()
    here.transport.close()
    here.transport.send(b"into the void")
    here.transport.resume_reading()
    assert (here.closed_count, there.closed_count) == (1, 1)
    assert pair.listener.connection_count == 0


async def test_a_truncated_file_closes_the_connection(pair: Pair, tmp_path: Path) -> None:
    here, there = await pair.open()
    file = LocalDisk(str(tmp_path)).open("a", create=True)
    there.transport.write([b"x", FileRange(file, 0, 100)])
    await there.until_closed()
    await here.until_closed()


async def test_many_connections_do_not_mix(pair: Pair) -> None:
    await pair.open()
    for _ in range(9):
        await pair.network.dial(*pair.listener.address, pair._recorder(pair.dialled))
    for number, each in enumerate(pair.dialled):
        each.transport.send(bytes([number]) * 50_000)
    for each in pair.accepted:
        assert len(set(await each.until_received(50_000))) == 1
    assert {each.data[0] for each in pair.accepted} == set(range(10))


async def test_nobody_listening_is_an_error_of_the_system(pair: Pair) -> None:
    await pair.open()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(OSError):
            await pair.network.dial(*free.getsockname(), pair._recorder(pair.dialled))


async def test_a_taken_address_is_an_error_of_the_system(pair: Pair) -> None:
    await pair.open()
    with pytest.raises(OSError):
        await pair.network.listen(*pair.listener.address, pair._recorder(pair.accepted))


async def test_plain_connections_never_leave_the_machine() -> None:
    pair = Pair(TcpNetwork())
    with pytest.raises(PermissionError, match="only talk on loopback"):
        await pair.network.listen("0.0.0.0", 0, pair._recorder(pair.accepted))
    with socket.create_server(("0.0.0.0", 0)) as elsewhere:
        address = _own_address()
        if address is None:
            pytest.skip("this machine has only its loopback")
        with pytest.raises(PermissionError, match="only talk on loopback"):
            await pair.network.dial(
                address, elsewhere.getsockname()[1], pair._recorder(pair.dialled)
            )
    assert pair.dialled == []


def _own_address() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])
