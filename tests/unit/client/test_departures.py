"""Who is told that a node's port refuses connections, and when."""

from collections.abc import AsyncIterator

import pytest
from tests.harness.peers import ECHO, Neighbour, hello_of

from duolog.adapters.network import TcpNetwork
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.ports.peers import PeerUnreachable

pytestmark = pytest.mark.every_event_loop

QUICK = LinkBounds(connect_ms_max=300, backoff_ms_min=1, backoff_ms_max=1)


class Peer:
    """A node that this one is connected to, and what is heard of its port."""

    def __init__(self) -> None:
        self.refused: list[int] = []
        self.node = Neighbour()

    async def connect(self) -> None:
        address = await self.node.open()
        self.links = PeerLinks(
            TcpNetwork(),
            lambda _: address,
            lambda: hello_of(1),
            bounds=QUICK,
            on_refused=self.refused.append,
        )
        await self.call()

    async def call(self) -> None:
        await self.links.call(2, ECHO, b"", timeout_ms=1_000)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    await peer.connect()
    yield peer
    await peer.links.close()


async def test_a_node_that_was_connected_to_and_refuses_has_ended(peer: Peer) -> None:
    assert peer.refused == []
    peer.node.close()
    for _ in range(2):
        with pytest.raises(PeerUnreachable):
            await peer.call()
    assert set(peer.refused) == {2}


async def test_one_that_was_never_reached_may_have_a_firewall_before_it(peer: Peer) -> None:
    peer.node.close()
    peer.links.forget(2)
    with pytest.raises(PeerUnreachable):
        await peer.call()
    assert peer.refused == []
