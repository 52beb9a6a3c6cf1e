"""What a node learns of the others while it asks them: who answers, and who does not."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.cluster_nodes import ManualClock
from tests.harness.certificates import ClusterCertificates
from tests.harness.peers import ECHO, PARK, Neighbour, Stranger, Stream, hello_of
from tests.harness.ports import free_port

from duolog.adapters.network import TcpNetwork, TlsNetwork
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.client.reachability import Reachability
from duolog.model.errors import Refusal
from duolog.ports.peers import PeerUnreachable

pytestmark = pytest.mark.every_event_loop

QUICK = LinkBounds(
    connect_ms_max=300, ping_after_ms=20, ping_ms_max=60_000, backoff_ms_min=1, backoff_ms_max=5
)
LOOK_MS = 250


class Watch:
    """Looks at the links of node 1, with a clock that runs faster than time."""

    def __init__(self, links: PeerLinks) -> None:
        self.links = links
        self.clock = ManualClock()
        self.reachability = Reachability(links, self.clock)

    async def looks(self, count: int = 20) -> tuple[int, ...]:
        for _ in range(count):
            await asyncio.sleep(0.015)
            self.clock.advance(LOOK_MS)
            self.reachability.look()
        return self.reachability.unreachable

    async def call(self, kind: int = ECHO) -> None:
        try:
            await self.links.call(2, kind, b"x", timeout_ms=60_000)
        except (PeerUnreachable, Refusal):
            return

    async def close(self) -> None:
        await self.reachability.stop()
        await self.links.close()


@pytest.fixture
async def neighbour() -> AsyncIterator[Neighbour]:
    neighbour = Neighbour()
    await neighbour.open()
    yield neighbour
    neighbour.close()


def links_to(address: tuple[str, int]) -> PeerLinks:
    return PeerLinks(TcpNetwork(), lambda _: address, lambda: hello_of(1), bounds=QUICK)


async def test_a_node_that_answers_late_but_answers_pings_is_reachable(neighbour) -> None:
    watch = Watch(neighbour.links(bounds=QUICK))
    call = asyncio.create_task(watch.call(PARK))
    assert await watch.looks() == ()
    assert not call.done()
    call.cancel()
    await watch.close()


async def test_a_node_that_accepts_a_connection_and_never_answers_is_unreachable() -> None:
    async def fall_silent(stream: Stream) -> None:
        await stream.greet()
        await asyncio.sleep(60)

    stranger = Stranger(fall_silent)
    watch = Watch(links_to(await stranger.open()))
    call = asyncio.create_task(watch.call())
    assert await watch.looks() == (2,)
    call.cancel()
    await watch.close()
    stranger.close()


async def test_a_node_that_refuses_connections_is_unreachable_until_it_answers_a_probe() -> None:
    port = free_port()
    watch = Watch(links_to(("127.0.0.1", port)))
    await watch.looks(1)
    for _ in range(20):
        await watch.call()
        await watch.looks(1)
    assert watch.reachability.unreachable == (2,)
    neighbour = Neighbour()
    await neighbour.open(port)
    # Nobody but the probes tries it any more.
    async with asyncio.timeout(20):
        while await watch.looks(1) != ():
            pass
    neighbour.close()
    await watch.close()


@pytest.mark.parametrize("expired", [1, 2], ids=["caller", "answerer"])
async def test_an_expired_certificate_makes_a_node_unreachable(tmp_path, expired: int) -> None:
    certificates = ClusterCertificates(tmp_path)
    own, theirs = (
        TlsNetwork(*certificates.contexts(node, days_ago=40 if node == expired else 0))
        for node in (1, 2)
    )
    neighbour = Neighbour(network=theirs, cluster="testing")
    address = await neighbour.open()
    links = PeerLinks(own, lambda _: address, lambda: hello_of(1), cluster="testing", bounds=QUICK)
    watch = Watch(links)
    for _ in range(20):
        await watch.call()
        await watch.looks(1)
    assert watch.reachability.unreachable == (2,)
    await watch.close()
    neighbour.close()


async def test_an_unreachable_node_stays_so_though_only_probes_try_it() -> None:
    watch = Watch(links_to(("127.0.0.1", free_port())))
    for _ in range(20):
        await watch.call()
        await watch.looks(1)
    assert await watch.looks(30) == (2,)
    await watch.close()


async def test_a_node_that_is_gone_is_not_tried_any_more() -> None:
    address = ("127.0.0.1", free_port())
    addresses = {2: address}
    watch = Watch(PeerLinks(TcpNetwork(), addresses.get, lambda: hello_of(1), bounds=QUICK))
    for _ in range(20):
        await watch.call()
        await watch.looks(1)
    assert watch.reachability.unreachable == (2,)
    addresses.clear()
    watch.links.forget(2)
    assert await watch.looks(20) == ()
    await watch.close()


async def test_a_node_that_nobody_has_asked_is_not_unreachable(neighbour) -> None:
    watch = Watch(neighbour.links(bounds=QUICK))
    await watch.call()
    assert await watch.looks(30) == ()
    await watch.close()
