"""Nodes that talk to each other over loopback, and peers that do what a test says."""

import asyncio
from collections.abc import Awaitable, Callable

from duolog.adapters.network import TcpNetwork
from duolog.adapters.tcp import TcpListener
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.peer_api.door import DoorBounds, PeerDoor
from duolog.ports.network import Network
from duolog.ports.peers import Caller, PeerHandlers
from duolog.wire.peer.frames import HEADER_BYTES, OK, encode_frame, parse_header
from duolog.wire.peer.hello import Hello, encode_hello
from duolog.wire.peer.kinds import PeerKind

ECHO = 16
PARK = 17
FAIL = 18

HELLO = Hello(cluster_id="cluster", node=2, epoch=20)
"""The node that listens in most tests; node 1 calls it."""


def hello_of(node: int, *, cluster_id: str = "cluster", version: int = 1) -> Hello:
    return Hello(version=version, cluster_id=cluster_id, node=node, epoch=10 * node)


class Neighbour:
    """A node with a door that echoes, parks or fails."""

    def __init__(
        self,
        node: int = 2,
        *,
        network: Network | None = None,
        cluster: str | None = None,
        bounds: DoorBounds | None = None,
        handlers: PeerHandlers | None = None,
    ) -> None:
        self.node = node
        self.network = network or TcpNetwork()
        self.callers: list[Caller] = []
        self.parked = 0
        self.cancelled = 0
        served = handlers or {ECHO: self.echo, PARK: self.park, FAIL: self.fail}
        self.door = PeerDoor(served, lambda: hello_of(node), cluster=cluster, bounds=bounds)
        self.listener: TcpListener

    async def echo(self, caller: Caller, body: memoryview) -> bytes:
        self.callers.append(caller)
        return bytes(body)

    async def park(self, caller: Caller, body: memoryview) -> bytes:
        self.parked += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.parked -= 1
        return b""

    async def fail(self, caller: Caller, body: memoryview) -> bytes:
        raise RuntimeError("a bug")

    async def open(self, port: int = 0) -> tuple[str, int]:
        listener = await self.network.listen("127.0.0.1", port, self.door.new_session)
        assert isinstance(listener, TcpListener)
        self.listener = listener
        return listener.address

    def close(self) -> None:
        self.listener.stop_accepting()
        self.door.close()

    def links(self, node: int = 1, *, bounds: LinkBounds | None = None) -> PeerLinks:
        """How another node reaches this one."""
        address = self.listener.address
        return PeerLinks(self.network, lambda _: address, lambda: hello_of(node), bounds=bounds)


class Stranger:
    """Listens, and does with each connection what it is told."""

    def __init__(self, serve: "Callable[[Stream], Awaitable[None]]") -> None:
        self._serve = serve
        self.connections = 0
        self._server: asyncio.Server
        self.address = ("127.0.0.1", 0)

    async def open(self) -> tuple[str, int]:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.address[1])
        self.address = self._server.sockets[0].getsockname()
        return self.address

    def close(self) -> None:
        self._server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._serve(Stream(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Stream:
    """Frames over asyncio's streams: the protocol once more, and nothing shared with ours."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def read(self) -> tuple[int, int, int, bytes]:
        """Correlation, kind, status and body."""
        async with asyncio.timeout(10):
            size, correlation, kind, status = parse_header(
                await self._reader.readexactly(HEADER_BYTES), 0
            )
            return correlation, kind, status, await self._reader.readexactly(size)

    async def is_closed(self) -> bool:
        """Whether the other side closes within a while, and says nothing more."""
        async with asyncio.timeout(10):
            try:
                return await self._reader.read(1) == b""
            except ConnectionError:
                return True

    def send(self, correlation: int, kind: int, body: bytes = b"", *, status: int = OK) -> None:
        self.writer.write(encode_frame(correlation, kind, body, status=status))

    async def greet(self, hello: Hello = HELLO) -> None:
        """As the side that was dialled."""
        correlation, kind, _, _ = await self.read()
        assert kind == PeerKind.HELLO
        self.send(correlation, kind, encode_hello(hello))


async def visit(address: tuple[str, int], hello: Hello | None = None) -> Stream:
    """A connection to a door; with a hello, one that has been let in."""
    stream = Stream(*await asyncio.open_connection(*address))
    if hello is not None:
        stream.send(0, PeerKind.HELLO, encode_hello(hello))
        _, kind, status, _ = await stream.read()
        assert (kind, status) == (PeerKind.HELLO, OK)
    return stream


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)
