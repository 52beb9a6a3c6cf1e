"""A network between machines: listeners, and connections over its links."""

import asyncio
from collections.abc import Callable

from duolog.ports.network import NewSession
from duolog.sim.links import Links
from duolog.sim.loop import ProcessLoop
from duolog.sim.pipe import Mark, Pipe
from duolog.sim.sockets import Socket
from duolog.sim.transports import SessionTransport, StreamTransport
from duolog.sim.world import NS_PER_S, World

FIRST_FREE_PORT = 40_000
HERE = ("", "localhost", "127.0.0.1", "0.0.0.0", "::")
CONNECT_AGAIN_NS = NS_PER_S
"""Time after which a lost connection request is sent again."""

Accept = Callable[[Socket], None]


class Network:
    """The network as a whole. A machine's name is its address."""

    def __init__(self, world: World, links: Links) -> None:
        self.world = world
        self.links = links
        self.listeners: dict[tuple[str, int], SimListener] = {}
        self._sockets: dict[Socket, Pipe] = {}
        """Open sockets, each with the pipe that it sends into."""
        self._ports = FIRST_FREE_PORT

    def free_port(self) -> int:
        self._ports += 1
        return self._ports

    def knock(
        self,
        source: "ProcessNetwork",
        host: str,
        port: int,
        connected: "asyncio.Future[Socket]",
    ) -> None:
        """Deliver a connection request; a lost one is sent again later."""
        if connected.done():
            return
        machine, links = source.machine, self.links
        blocked = links.is_cut(machine, host) or links.is_cut(host, machine)
        if blocked or links.is_down(host):
            self.world.after(CONNECT_AGAIN_NS, self.knock, source, host, port, connected)
            return
        listener = self.listeners.get((host, port))
        back_ns = links.latency_ns(host, machine)
        if listener is None or listener.loop.is_dead or links.rejects(machine, host):
            refused = ConnectionRefusedError(111, f"nothing listens on {host}:{port}")
            self.world.after(back_ns, _refuse, connected, refused, loop=source.loop)
            return
        here, there = self._connect(source, (host, port), listener)
        listener.loop.call_soon(listener.accepted, there)
        self.world.after(back_ns, _hand_over, connected, here, loop=source.loop)

    def _connect(
        self, source: "ProcessNetwork", target: tuple[str, int], listener: "SimListener"
    ) -> tuple[Socket, Socket]:
        names, loops = (source.machine, target[0]), (source.loop, listener.loop)
        forth = Pipe(self.world, self.links, names, loops)
        back = Pipe(self.world, self.links, names[::-1], loops[::-1])
        addresses = (source.machine, self.free_port()), target
        here = Socket(loops[0], forth, back, addresses, self._gone)
        there = Socket(loops[1], back, forth, addresses[::-1], self._gone)
        self._sockets[here], self._sockets[there] = forth, back
        return here, there

    def sockets(self, machine: str | None = None) -> list[Socket]:
        return [each for each in self._sockets if machine in (None, each.local[0])]

    def end_process(self, loop: ProcessLoop) -> None:
        """Close the process's sockets and listeners, as its kernel would."""
        self._close_listeners(loop)
        for socket, pipe in list(self._sockets.items()):
            if socket.loop is loop:
                socket.vanish()
                pipe.send(Mark.RESET)

    def power_off(self, machine: str, loop: ProcessLoop) -> None:
        """Drop the machine's sockets silently: peers learn of it when they send and the machine is
        back."""
        self._close_listeners(loop)
        self.links.take_down(machine)
        for socket in self.sockets(machine):
            socket.vanish()

    def power_on(self, machine: str) -> None:
        self.links.bring_up(machine)

    def _close_listeners(self, loop: ProcessLoop) -> None:
        for address, listener in list(self.listeners.items()):
            if listener.loop is loop:
                del self.listeners[address]

    def _gone(self, socket: Socket) -> None:
        self._sockets.pop(socket, None)


class SimListener:
    def __init__(
        self, network: Network, loop: ProcessLoop, address: tuple[str, int], accept: Accept
    ) -> None:
        self._network = network
        self.loop = loop
        self._address = address
        self._accept = accept
        self._accepted: dict[Socket, None] = {}

    @property
    def address(self) -> tuple[str, int]:
        return self._address

    def accepted(self, socket: Socket) -> None:
        self._accepted[socket] = None
        self._accept(socket)

    def stop_accepting(self) -> None:
        if self._network.listeners.get(self._address) is self:
            del self._network.listeners[self._address]

    def abort_connections(self) -> None:
        for socket in list(self._accepted):
            socket.abort()
        self._accepted.clear()

    # The interface of asyncio.Server, for callers of `loop.create_server`.

    @property
    def sockets(self) -> list["SimListener"]:
        return [self]

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def close(self) -> None:
        self.stop_accepting()


class ProcessNetwork:
    """The network as one process sees it: ports.Network, and its loop's own connections."""

    def __init__(self, network: Network, machine: str, loop: ProcessLoop) -> None:
        self._network = network
        self.machine = machine
        self.loop = loop
        loop.streams = self

    async def dial(self, host: str, port: int, new_session: NewSession) -> None:
        transport = SessionTransport(await self._dial(host, port))
        transport.start(new_session(transport))

    async def listen(self, host: str, port: int, new_session: NewSession) -> SimListener:
        def accept(socket: Socket) -> None:
            transport = SessionTransport(socket)
            transport.start(new_session(transport))

        return self._listen(port, accept)

    async def connect(
        self, new_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]:
        socket = await self._dial(host, port)
        protocol = new_protocol()
        transport = StreamTransport(socket, protocol)
        transport.start()
        return transport, protocol

    async def serve(
        self, new_protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> SimListener:
        return self._listen(port, lambda socket: StreamTransport(socket, new_protocol()).start())

    def _listen(self, port: int, accept: Accept) -> SimListener:
        network = self._network
        address = (self.machine, port or network.free_port())
        if address in network.listeners:
            raise OSError(98, f"{address[0]}:{address[1]} is taken")
        network.listeners[address] = listener = SimListener(network, self.loop, address, accept)
        return listener

    async def _dial(self, host: str, port: int) -> Socket:
        network = self._network
        host = self.machine if host in HERE else host
        connected: asyncio.Future[Socket] = self.loop.create_future()
        delay_ns = network.links.latency_ns(self.machine, host)
        network.world.after(delay_ns, network.knock, self, host, port, connected)
        return await connected


def _hand_over(connected: "asyncio.Future[Socket]", socket: Socket) -> None:
    if connected.done():
        socket.abort()
    else:
        connected.set_result(socket)


def _refuse(connected: "asyncio.Future[Socket]", error: OSError) -> None:
    if not connected.done():
        connected.set_exception(error)
