"""What the simulator charges for work, measured on this machine: CPU time of a thread alone.

`python -m bench.prices` prints the lines of src/duolog/sim/prices.py. Needs etcd.
"""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from bench.processes import free_port
from duolog.adapters.disk import LocalDisk
from duolog.adapters.etcd.address import parse_store_address
from duolog.adapters.etcd.store import EtcdStore
from duolog.adapters.network import TcpNetwork
from duolog.core.queues.delivery import Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.ports.metastore import Put, StoreUnavailable
from duolog.ports.transport import Transport
from duolog.records.builder import build_batch
from duolog.records.iterator import iter_batches, iter_records
from duolog.records.record import Record

TIMES = 2_000
STORE_TIMES = 500
ROUNDS = 5
BLOCK_BYTES = 64 * 1024
HOST = "127.0.0.1"
ETCD_SECONDS_MAX = 30.0
HEAD_BYTES = 64


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name, call_ns, kib_ns in (
            ("STEP", step_ns(), 0),
            *file_prices(directory),
            *uvloop.run(connection_prices()),
            *store_prices(Path(directory)),
        ):
            sizes = [call_ns, kib_ns] if kib_ns else [call_ns]
            print(f"{name} = Price({', '.join(f'{_rounded(each):_}' for each in sizes)})")


def step_ns() -> int:
    """A record that recovery decodes and takes into a queue."""
    batches = b"".join(
        build_batch([Record(value=bytes(200))], base_offset=offset) for offset in range(TIMES)
    )
    rules = DeliveryRules(
        fifo=True, retention_ms=1 << 40, in_flight_max=1000, receive_count_max=None
    )

    def recover() -> None:
        delivery = Delivery(rules, 0)
        for _, batch in iter_batches(batches):
            for record in iter_records(batch, decompressed_bytes_max=1 << 20):
                assert record.offset is not None
                delivery.enqueue(record.offset, 0, group=b"group")

    return _best(recover) // TIMES


def file_prices(directory: str) -> Iterator[tuple[str, int, int]]:
    disk = LocalDisk(directory)
    try:
        file = disk.open("file", create=True)
        file.pwrite(bytes(BLOCK_BYTES), 0)
        yield "FILE", _each(lambda: disk.open("file").close()), 0
        yield _by_size("READ", lambda size: file.pread(size, 0))
        yield _by_size("WRITE", lambda size: file.pwrite(bytes(size), 0))
    finally:
        disk.close()


async def connection_prices() -> list[tuple[str, int, int]]:
    """Bytes that go back and forth: half of what is left after sending is the receiver's."""
    found: dict[int, tuple[int, int]] = {}
    for size in (HEAD_BYTES, BLOCK_BYTES):
        rounds = [await _exchange(size) for _ in range(ROUNDS)]
        found[size] = min(sent for sent, _ in rounds), min(received for _, received in rounds)
    prices = []
    for place, name in enumerate(("SEND", "RECEIVE")):
        small, large = found[HEAD_BYTES][place], found[BLOCK_BYTES][place]
        prices.append((name, small, (large - small) * 1024 // (BLOCK_BYTES - HEAD_BYTES)))
    return prices


class _End:
    """One end of a connection; answers what it has received with as many bytes."""

    def __init__(self, transport: Transport, exchange: "_Exchange") -> None:
        self._transport = transport
        self._exchange = exchange
        self._buffer = memoryview(bytearray(BLOCK_BYTES))
        self._missing = exchange.size
        exchange.ends.append(self)
        if len(exchange.ends) == 2:
            exchange.are_both_there.set()

    def send(self) -> None:
        began = time.thread_time_ns()
        self._transport.send(self._exchange.data)
        self._exchange.sending_ns += time.thread_time_ns() - began

    def get_buffer(self) -> memoryview:
        return self._buffer

    def received(self, count: int) -> None:
        self._missing -= count
        if not self._missing:
            self._missing = self._exchange.size
            self._exchange.arrived(self)

    def drained(self) -> None:
        """Does nothing: one message at a time is under way."""

    def closed(self) -> None:
        """Does nothing: the exchange is over."""


class _Exchange:
    def __init__(self, size: int) -> None:
        self.size = size
        self.data = bytes(size)
        self.ends: list[_End] = []
        self.are_both_there = asyncio.Event()
        self.sending_ns = 0
        self._left = TIMES
        self.over = asyncio.Event()

    def arrived(self, end: _End) -> None:
        self._left -= 1
        if self._left:
            end.send()
        else:
            self.over.set()

    def end(self, transport: Transport) -> _End:
        return _End(transport, self)


async def _exchange(size: int) -> tuple[int, int]:
    network, exchange = TcpNetwork(), _Exchange(size)
    listener = await network.listen(HOST, 0, exchange.end)
    await network.dial(HOST, listener.address[1], exchange.end)
    await exchange.are_both_there.wait()
    began = time.thread_time_ns()
    exchange.ends[0].send()
    await exchange.over.wait()
    total_ns = time.thread_time_ns() - began
    listener.stop_accepting()
    listener.abort_connections()
    return exchange.sending_ns // TIMES, (total_ns - exchange.sending_ns) // TIMES


def store_prices(directory: Path) -> list[tuple[str, int, int]]:
    with _etcd(directory) as address:
        return uvloop.run(_store_prices(address))


async def _store_prices(address: str) -> list[tuple[str, int, int]]:
    store = await _opened(address)
    for number in range(STORE_TIMES):
        await store.transact([], [Put(f"many/{number}", bytes(200))])
    began = time.thread_time_ns()
    for number in range(STORE_TIMES):
        await store.get(f"one/{number}")
    request_ns = (time.thread_time_ns() - began) // STORE_TIMES
    began = time.thread_time_ns()
    await store.range("many/")
    entry_ns = (time.thread_time_ns() - began - request_ns) // STORE_TIMES
    await store.close()
    return [("STORE_REQUEST", request_ns, 0), ("STORE_ENTRY", entry_ns, 0)]


async def _opened(address: str) -> EtcdStore:
    deadline = time.monotonic() + ETCD_SECONDS_MAX
    while True:
        try:
            return await EtcdStore.open(parse_store_address(address).endpoints, "prices/")
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


@contextmanager
def _etcd(directory: Path) -> Iterator[str]:
    program = shutil.which("etcd")
    assert program is not None, "etcd is not installed"
    client, peer = (f"http://{HOST}:{free_port()}" for _ in range(2))
    argv = [program, "--data-dir", str(directory / "etcd"), "--listen-client-urls", client]
    argv += ["--advertise-client-urls", client, "--listen-peer-urls", peer]
    argv += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield client.replace("http://", "etcd://")
    finally:
        process.kill()
        process.wait()


def _by_size(name: str, work: Callable[[int], object]) -> tuple[str, int, int]:
    small = _each(lambda: work(HEAD_BYTES))
    large = _each(lambda: work(BLOCK_BYTES))
    return name, small, (large - small) * 1024 // (BLOCK_BYTES - HEAD_BYTES)


def _each(work: Callable[[], object]) -> int:
    def many() -> None:
        for _ in range(TIMES):
            work()

    return _best(many) // TIMES


def _best(work: Callable[[], object]) -> int:
    """CPU time of the quickest of a few rounds: whoever else runs only makes it longer."""
    took = []
    for _ in range(ROUNDS):
        began = time.thread_time_ns()
        work()
        took.append(time.thread_time_ns() - began)
    return min(took)


def _rounded(value_ns: int) -> int:
    """To two digits: the third differs from run to run."""
    scale: int = 10 ** max(0, len(str(value_ns)) - 2)
    return round(value_ns / scale) * scale


if __name__ == "__main__":
    main()
