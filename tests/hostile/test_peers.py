"""Whoever comes to the door for nodes: the nodes of the cluster are served as before."""

import asyncio
import os
import random
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from struct import pack

import pytest
from tests.harness.certificates import ClusterCertificates
from tests.harness.peers import ECHO, PARK, Neighbour, Stream, hello_of, until, visit

from duolog.adapters import tls
from duolog.adapters.network import TlsNetwork
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.model.errors import Refusal
from duolog.peer_api.door import DoorBounds
from duolog.ports.peers import PeerUnreachable
from duolog.wire.peer.frames import FRAME_BYTES_MAX, encode_frame
from duolog.wire.peer.hello import encode_hello
from duolog.wire.peer.kinds import PeerKind

CALL_SECONDS_MAX = 0.25
CALL_MS_MAX = 30_000
BOUNCED_SECONDS_MAX = 30
HANDSHAKE_SECONDS_MAX = 3.0
CLUSTER = "testing"
BOUNDS = DoorBounds(in_flight_max=500, backlog_bytes_max=4 << 20, hello_ms_max=3_000)


@pytest.fixture(autouse=True)
def stays_well() -> None:
    """These tests have doors of their own; the node of the others is not started for them."""


@pytest.fixture
async def neighbour() -> AsyncIterator[Neighbour]:
    """Serves a well-behaved node all the while."""
    neighbour = Neighbour(bounds=BOUNDS)
    await neighbour.open()
    links = neighbour.links(3)
    took: list[float] = []

    async def call_on() -> None:
        while True:
            started = time.monotonic()
            assert await links.call(2, ECHO, b"well", timeout_ms=CALL_MS_MAX) == b"well"
            took.append(time.monotonic() - started)
            await asyncio.sleep(0.005)

    calling = asyncio.create_task(call_on())
    await until(lambda: bool(took))
    yield neighbour
    served = len(took)
    await until(lambda: len(took) > served or calling.done())
    assert not calling.done(), calling.exception()
    calling.cancel()
    assert sorted(took)[len(took) // 2] < CALL_SECONDS_MAX
    await links.close()
    await until(lambda: neighbour.door.connection_count == 0)
    assert neighbour.parked == 0
    neighbour.close()


async def bounced(stream: Stream) -> None:
    """The door closes; what it may have said before does not matter."""
    async with asyncio.timeout(BOUNCED_SECONDS_MAX):
        try:
            while True:
                await stream.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            stream.writer.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_garbage_is_thrown_out(neighbour: Neighbour, is_known: bool) -> None:
    rng = random.Random(7)
    for _ in range(50):
        stream = await visit(neighbour.listener.address, hello_of(1) if is_known else None)
        # The top bit of the size is set: no luck makes this a frame that is waited for.
        stream.writer.write(b"\xff" + rng.randbytes(rng.randrange(20, 3_000)))
        await bounced(stream)


async def test_a_hello_changed_anywhere_is_refused_or_harmless(neighbour: Neighbour) -> None:
    rng = random.Random(8)
    good = encode_frame(0, PeerKind.HELLO, encode_hello(hello_of(1)))
    for _ in range(100):
        bad = bytearray(good)
        bad[rng.randrange(4, len(bad))] = rng.randrange(256)
        stream = await visit(neighbour.listener.address)
        stream.writer.write(bytes(bad))
        stream.writer.write_eof()
        await bounced(stream)


@pytest.mark.parametrize("size", [FRAME_BYTES_MAX, (1 << 32) - 1, 0])
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_frame_of_an_impossible_size_is_thrown_out(
    neighbour: Neighbour, size: int, is_known: bool
) -> None:
    stream = await visit(neighbour.listener.address, hello_of(1) if is_known else None)
    stream.writer.write(pack(">IQHH", size, 1, ECHO, 0))
    await bounced(stream)


async def test_strangers_cannot_announce_large_frames(neighbour: Neighbour) -> None:
    stream = await visit(neighbour.listener.address)
    stream.writer.write(pack(">IQHH", 1 << 20, 0, PeerKind.HELLO, 0))
    await bounced(stream)


async def test_requests_before_the_hello_are_not_served(neighbour: Neighbour) -> None:
    stream = await visit(neighbour.listener.address)
    stream.send(1, ECHO, b"let me in")
    await bounced(stream)
    assert all(caller.node == 3 for caller in neighbour.callers)


async def test_silent_and_slow_visitors_have_to_go(neighbour: Neighbour) -> None:
    streams = [await visit(neighbour.listener.address) for _ in range(100)]
    hello = encode_frame(0, PeerKind.HELLO, encode_hello(hello_of(1)))
    for stream in streams[:50]:
        stream.writer.write(hello[:-1])
    for stream in streams:
        await bounced(stream)


async def test_a_flood_of_requests_is_thrown_out(neighbour: Neighbour) -> None:
    streams = [await visit(neighbour.listener.address, hello_of(1)) for _ in range(5)]
    flood = b"".join(encode_frame(number, PARK) for number in range(100_000))
    for stream in streams:
        stream.writer.write(flood)
    for stream in streams:
        await bounced(stream)


async def test_a_flood_of_refused_requests_leaves_room_for_others(neighbour: Neighbour) -> None:
    streams = [await visit(neighbour.listener.address, hello_of(1)) for _ in range(5)]
    flood = b"".join(encode_frame(number, 99) for number in range(10_000))
    for stream in streams:
        stream.writer.write(flood)
    for stream in streams:
        for _ in range(10_000):
            await stream.read()
        stream.writer.close()


async def test_a_flood_of_answers_that_nobody_takes_is_bounded(neighbour: Neighbour) -> None:
    stream = await visit(neighbour.listener.address, hello_of(1))
    stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
    body = os.urandom(1 << 20)
    for number in range(200):
        stream.send(number, ECHO, body)
    await asyncio.sleep(0.3)
    assert sum(caller.node == 1 for caller in neighbour.callers) < 100
    stream.writer.transport.abort()
    await until(lambda: neighbour.door.connection_count == 1)


class Secured:
    """A door that only opens to certificates of its cluster."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificates = ClusterCertificates(directory / "ours", CLUSTER)
        self.neighbour = Neighbour(network=self.certificates.network(2), cluster=CLUSTER)

    def links(self, node: int, network: TlsNetwork) -> PeerLinks:
        address = self.neighbour.listener.address
        bounds = LinkBounds(connect_ms_max=10_000)
        return PeerLinks(
            network, lambda _: address, lambda: hello_of(node), cluster=CLUSTER, bounds=bounds
        )

    async def reason_for_refusing(self, node: int, network: TlsNetwork) -> str:
        links = self.links(node, network)
        with pytest.raises((PeerUnreachable, Refusal)) as caught:
            await links.call(2, ECHO, b"x", timeout_ms=CALL_MS_MAX)
        await links.close()
        assert isinstance(caught.value, PeerUnreachable)
        assert not caught.value.was_sent
        assert self.neighbour.callers == []
        return str(caught.value)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    secured = Secured(tmp_path)
    await secured.neighbour.open()
    yield secured
    links = secured.links(1, secured.certificates.network(1))
    assert await links.call(2, ECHO, b"well", timeout_ms=CALL_MS_MAX) == b"well"
    await links.close()
    secured.neighbour.close()


async def test_an_unknown_certificate_opens_nothing(secured: Secured) -> None:
    others = ClusterCertificates(secured.directory / "others", CLUSTER)
    reason = await secured.reason_for_refusing(1, others.network(1))
    assert "the certificate is not accepted" in reason


async def test_no_certificate_opens_nothing(secured: Secured) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(secured.certificates.ca)
    assert await secured.reason_for_refusing(1, TlsNetwork(context, context))


async def test_a_certificate_is_good_for_one_node_only(secured: Secured) -> None:
    reason = await secured.reason_for_refusing(1, secured.certificates.network(3))
    assert "shows the certificate of duolog://testing/3 and not of duolog://testing/1" in reason


async def test_a_node_that_poses_as_another_is_not_talked_to(secured: Secured) -> None:
    impostor = Neighbour(network=secured.certificates.network(3), cluster=CLUSTER)
    address = await impostor.open()
    links = PeerLinks(
        secured.certificates.network(1), lambda _: address, lambda: hello_of(1), cluster=CLUSTER
    )
    with pytest.raises(PeerUnreachable, match="shows the certificate of duolog://testing/3"):
        await links.call(2, ECHO, b"x", timeout_ms=CALL_MS_MAX)
    await links.close()
    impostor.close()


async def test_half_a_handshake_holds_up_nobody(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS_MAX", HANDSHAKE_SECONDS_MAX)
    streams = [await visit(secured.neighbour.listener.address) for _ in range(100)]
    for stream in streams[:50]:
        stream.writer.write(b"\x16\x03\x01")
    links = secured.links(1, secured.certificates.network(1))
    assert await links.call(2, ECHO, b"x", timeout_ms=CALL_MS_MAX) == b"x"
    for stream in streams:
        await bounced(stream)
    await links.close()
    secured.neighbour.callers.clear()
