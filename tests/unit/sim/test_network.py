"""Connections between machines: order, partitions, and ends of all kinds."""

import asyncio

import pytest

from duolog.sim.links import Links
from duolog.sim.machine import Machine
from duolog.sim.network import Network
from duolog.sim.pipe import BUFFER_BYTES
from duolog.sim.seed import Seed
from duolog.sim.store_server import StoreServer
from duolog.sim.world import World


class Echo:
    """Answers what it gets; remembers what it saw."""

    def __init__(self, transport):
        self.transport = transport
        self.seen = bytearray()
        self.is_closed = False
        self._buffer = memoryview(bytearray(1_000))

    def get_buffer(self):
        return self._buffer

    def received(self, count):
        self.seen += self._buffer[:count]
        self.transport.send(bytes(self._buffer[:count]))

    def drained(self):
        return

    def closed(self):
        self.is_closed = True


class Caller(Echo):
    def received(self, count):
        self.seen += self._buffer[:count]


class Pair:
    """Two machines; `server` listens on port 1."""

    def __init__(self):
        self.world = World(Seed(3))
        self.links = Links(self.world.seed.random("links"))
        self.network = Network(self.world, self.links)
        store = StoreServer(self.world)
        self.client = Machine(self.world, self.network, store, "client")
        self.server = Machine(self.world, self.network, store, "server")
        self.here, self.there = self.client.start(), self.server.start()
        self.echoes, self.callers = [], []

    def accept(self, transport):
        self.echoes.append(Echo(transport))
        return self.echoes[-1]

    def call(self, transport):
        self.callers.append(Caller(transport))
        return self.callers[-1]

    async def connect(self):
        await self.within(self.there, self.there.network.listen("", 1, self.accept))
        await self.within(self.here, self.here.network.dial("server", 1, self.call))
        return self.callers[-1]

    async def within(self, process, work, seconds=60):
        """The result of work that a process does."""
        task = process.loop.create_task(work)
        for _ in range(int(seconds * 100)):
            if task.done():
                return task.result()
            await asyncio.sleep(0.01)
        return None


@pytest.fixture
def pair():
    made = Pair()
    yield made
    made.world.close()


def test_bytes_arrive_in_order(pair):
    async def main():
        caller = await pair.connect()
        for n in range(100):
            caller.transport.send(b"%02d" % n)
        await asyncio.sleep(1)
        return bytes(caller.seen)

    assert pair.world.run(main()) == b"".join(b"%02d" % n for n in range(100))


def test_nobody_listens(pair):
    async def main():
        with pytest.raises(ConnectionRefusedError):
            await pair.within(pair.here, pair.here.network.dial("server", 2, pair.call))

    pair.world.run(main())


def test_a_cut_link_holds_bytes_up_until_it_is_mended(pair):
    async def main():
        caller = await pair.connect()
        pair.links.cut("server", "client")
        caller.transport.send(b"hello")
        await asyncio.sleep(10)
        assert (pair.echoes[0].seen, caller.seen) == (b"hello", b"")
        pair.links.heal("server", "client")
        await asyncio.sleep(1)
        assert caller.seen == b"hello"

    pair.world.run(main())


def test_a_connection_is_made_once_the_link_is_mended(pair):
    async def main():
        pair.links.cut("client", "server")
        pair.world.after(5_000_000_000, pair.links.heal, "client", "server")
        await pair.connect()
        return pair.world.now_ns

    assert 5 <= pair.world.run(main()) / 1e9 < 7


def test_a_killed_process_is_noticed_at_once(pair):
    async def main():
        caller = await pair.connect()
        pair.server.kill()
        await asyncio.sleep(0.1)
        assert caller.is_closed
        assert not pair.echoes[0].is_closed

    pair.world.run(main())


def test_a_power_cut_is_noticed_by_whoever_sends_to_the_machine_that_is_back(pair):
    async def main():
        caller = await pair.connect()
        pair.server.power_off()
        caller.transport.send(b"hello")
        await asyncio.sleep(10)
        assert not caller.is_closed
        pair.server.start()
        await asyncio.sleep(1)
        assert caller.is_closed

    pair.world.run(main())


def test_whoever_only_waits_does_not_notice_a_power_cut(pair):
    async def main():
        caller = await pair.connect()
        pair.server.power_off()
        pair.server.start()
        await asyncio.sleep(100)
        assert not caller.is_closed
        caller.transport.send(b"?")
        await asyncio.sleep(1)
        assert caller.is_closed

    pair.world.run(main())


def test_a_paused_process_reads_when_it_goes_on(pair):
    async def main():
        caller = await pair.connect()
        pair.there.loop.pause()
        caller.transport.send(b"hello")
        await asyncio.sleep(10)
        assert caller.seen == b""
        pair.there.loop.resume()
        await asyncio.sleep(1)
        assert caller.seen == b"hello"

    pair.world.run(main())


def test_what_is_not_read_becomes_a_backlog(pair):
    async def main():
        caller = await pair.connect()
        await asyncio.sleep(0.01)
        pair.echoes[0].transport.pause_reading()
        drained = []
        caller.drained = lambda: drained.append(True)
        caller.transport.send(bytes(BUFFER_BYTES + 5))
        assert caller.transport.backlog_bytes == 5
        await asyncio.sleep(1)
        assert caller.transport.backlog_bytes == 5
        pair.echoes[0].transport.resume_reading()
        await asyncio.sleep(1)
        assert caller.transport.backlog_bytes == 0
        assert drained == [True]

    pair.world.run(main())


def test_streams_work_as_ever(pair):
    async def serve():
        async def answer(reader, writer):
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        return await asyncio.start_server(answer, "", 5)

    async def ask():
        reader, writer = await asyncio.open_connection("server", 5)
        writer.write(b"hello\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async def main():
        await pair.within(pair.there, serve())
        return await pair.within(pair.here, ask())

    assert pair.world.run(main()) == b"HELLO\n"
