"""Who is told that a node's port refuses connections, and when."""

import pytest
from tests.harness.peers import ECHO, Neighbour, hello_of

from duolog.adapters.network import TcpNetwork
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.ports.peers import PeerUnreachable

pytestmark = pytest.mark.every_event_loop

QUICK = LinkBounds(connect_ms_max=300, backoff_ms_min=1, backoff_ms_max=1)


async def test_a_node_that_was_connected_to_and_refuses_has_ended() -> None:
    refused: list[int] = []
    neighbour = Neighbour()
    address = await neighbour.open()
    links = PeerLinks(
        TcpNetwork(),
        lambda _: address,
        lambda: hello_of(1),
        bounds=QUICK,
        on_refused=refused.append,
    )
    await links.call(2, ECHO, b"", timeout_ms=1_000)
    assert refused == []
    neighbour.close()
    for _ in range(2):
        with pytest.raises(PeerUnreachable):
            await links.call(2, ECHO, b"", timeout_ms=1_000)
    assert set(refused) == {2}
    await links.close()


async def test_one_that_was_never_reached_may_have_a_firewall_before_it() -> None:
    refused: list[int] = []
    neighbour = Neighbour()
    address = await neighbour.open()
    links = PeerLinks(
        TcpNetwork(),
        lambda _: address,
        lambda: hello_of(1),
        bounds=QUICK,
        on_refused=refused.append,
    )
    await links.call(2, ECHO, b"", timeout_ms=1_000)
    neighbour.close()
    links.forget(2)
    with pytest.raises(PeerUnreachable):
        await links.call(2, ECHO, b"", timeout_ms=1_000)
    assert refused == []
    await links.close()
