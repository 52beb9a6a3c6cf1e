"""Calls to other nodes: in order, in parallel, and never with a wrong word on their outcome."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs
from tests.harness.peers import (
    ECHO,
    FAIL,
    PARK,
    Neighbour,
    Stranger,
    Stream,
    hello_of,
    until,
)
from tests.harness.ports import free_port

from duolog.adapters.network import TcpNetwork
from duolog.client.peers import LinkBounds, PeerLinks
from duolog.model.errors import PeerFailed, UnsupportedVersion
from duolog.ports.network import NewSession
from duolog.ports.peers import COPIES_LANE, Caller, PeerUnreachable
from duolog.wire.peer.hello import Hello
from duolog.wire.peer.kinds import PeerKind

pytestmark = pytest.mark.every_event_loop

QUICK = LinkBounds(
    connect_ms_max=300,
    ping_after_ms=50,
    ping_ms_max=50,
    backoff_ms_min=20,
    backoff_ms_max=100,
    in_flight_max=4,
)


@pytest.fixture
async def neighbour() -> AsyncIterator[Neighbour]:
    neighbour = Neighbour()
    await neighbour.open()
    yield neighbour
    neighbour.close()


@pytest.fixture
async def links(neighbour: Neighbour) -> AsyncIterator[PeerLinks]:
    links = neighbour.links(bounds=QUICK)
    yield links
    await links.close()


def links_to(address: tuple[str, int] | None, bounds: LinkBounds = QUICK) -> PeerLinks:
    return PeerLinks(TcpNetwork(), lambda _: address, lambda: hello_of(1), bounds=bounds)


async def ask(links: PeerLinks, body: bytes = b"x", timeout_ms: int = 5_000) -> bytes:
    return bytes(await links.call(2, ECHO, body, timeout_ms=timeout_ms))


async def failure_of(
    links: PeerLinks, *, kind: int = ECHO, timeout_ms: int = 5_000
) -> PeerUnreachable:
    with pytest.raises(PeerUnreachable) as caught:
        await links.call(2, kind, b"x", timeout_ms=timeout_ms)
    return caught.value


async def test_a_call_is_answered(neighbour: Neighbour, links: PeerLinks) -> None:
    assert await ask(links, b"hello") == b"hello"
    assert await ask(links, b"") == b""
    assert neighbour.callers[0] == Caller(node=1, epoch=10)


async def test_large_bodies_go_through(links: PeerLinks) -> None:
    body = bytes(range(256)) * 20_000
    assert await ask(links, body) == body


async def test_calls_of_a_lane_share_one_connection(neighbour: Neighbour, links: PeerLinks) -> None:
    assert neighbour.door.connection_count == 0
    await asyncio.gather(*(ask(links) for _ in range(50)))
    assert neighbour.door.connection_count == 1
    await links.call(2, ECHO, b"", timeout_ms=1_000, lane=COPIES_LANE)
    assert neighbour.door.connection_count == 2


async def test_answers_come_in_any_order_and_reach_whom_they_are_for() -> None:
    async def backwards(stream: Stream) -> None:
        await stream.greet()
        asked = [await stream.read() for _ in range(3)]
        for correlation, kind, _, body in reversed(asked):
            stream.send(correlation, kind, body)
        await stream.is_closed()

    stranger = Stranger(backwards)
    links = links_to(await stranger.open())
    assert await asyncio.gather(*(ask(links, body) for body in (b"a", b"b", b"c"))) == [
        b"a",
        b"b",
        b"c",
    ]
    await links.close()
    stranger.close()


async def test_calls_are_sent_in_the_order_in_which_they_were_made() -> None:
    seen: list[bytes] = []

    async def note(caller: Caller, body: memoryview) -> bytes:
        seen.append(bytes(body))
        return b""

    neighbour = Neighbour(handlers={ECHO: note})
    await neighbour.open()
    links = neighbour.links(bounds=QUICK)
    # Some wait for the connection, and most for others to be answered.
    await asyncio.gather(*(ask(links, b"%d" % number) for number in range(100)))
    assert seen == [b"%d" % number for number in range(100)]
    await links.close()
    neighbour.close()


async def test_no_more_calls_are_in_flight_than_allowed() -> None:
    now, most = 0, 0

    async def count(caller: Caller, body: memoryview) -> bytes:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1
        return b""

    neighbour = Neighbour(handlers={ECHO: count})
    await neighbour.open()
    links = neighbour.links(bounds=QUICK)
    await asyncio.gather(*(ask(links) for _ in range(40)))
    assert most == QUICK.in_flight_max
    await links.close()
    neighbour.close()


async def test_too_many_waiting_calls_are_refused_at_once(neighbour: Neighbour) -> None:
    links = neighbour.links(bounds=LinkBounds(in_flight_max=1, queued_max=3))
    await ask(links)
    calls = [asyncio.create_task(links.call(2, PARK, b"", timeout_ms=5_000)) for _ in range(4)]
    await until(lambda: neighbour.parked == 1)
    failure = await failure_of(links)
    assert not failure.was_sent
    assert "too many requests" in str(failure)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert await ask(links) == b"x"
    await links.close()


async def test_waiting_calls_are_bounded_in_bytes(neighbour: Neighbour) -> None:
    links = neighbour.links(bounds=LinkBounds(queued_bytes_max=1_000))
    waiting = asyncio.create_task(ask(links, bytes(900)))
    await asyncio.sleep(0)
    with pytest.raises(PeerUnreachable) as caught:
        await ask(links, bytes(200))
    assert not caught.value.was_sent
    await waiting
    assert len(await ask(links, bytes(2_000))) == 2_000
    await links.close()


async def test_a_refusal_arrives_as_one(neighbour: Neighbour, links: PeerLinks) -> None:
    with pytest.raises(UnsupportedVersion, match="kind 99"):
        await links.call(2, 99, b"", timeout_ms=1_000)
    with capture_logs() as logs, pytest.raises(PeerFailed):
        await links.call(2, FAIL, b"", timeout_ms=1_000)
    assert [each["event"] for each in logs] == ["a node's request could not be served"]
    assert await ask(links) == b"x"


async def test_a_cancelled_call_is_cancelled_over_there(
    neighbour: Neighbour, links: PeerLinks
) -> None:
    call = asyncio.create_task(links.call(2, PARK, b"", timeout_ms=60_000))
    await until(lambda: neighbour.parked == 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: neighbour.cancelled == 1)
    assert await ask(links) == b"x"
    assert neighbour.door.connection_count == 1


async def test_a_call_that_takes_too_long_is_cancelled_and_its_outcome_unknown(
    neighbour: Neighbour, links: PeerLinks
) -> None:
    assert await ask(links) == b"x"
    failure = await failure_of(links, kind=PARK, timeout_ms=30)
    assert failure.was_sent
    assert str(failure) == "node 2 did not answer within 30 ms"
    await until(lambda: neighbour.cancelled == 1)
    assert await ask(links) == b"x"


async def test_an_answer_that_comes_too_late_is_ignored() -> None:
    async def late(stream: Stream) -> None:
        await stream.greet()
        correlation, kind, _, body = await stream.read()
        assert (await stream.read())[:2] == (correlation, PeerKind.CANCEL)
        stream.send(correlation, kind, body)
        correlation, kind, _, _ = await stream.read()
        stream.send(correlation, kind, b"in time")
        await stream.is_closed()

    stranger = Stranger(late)
    links = links_to(await stranger.open(), LinkBounds())
    await failure_of(links, timeout_ms=500)
    assert await ask(links) == b"in time"
    assert stranger.connections == 1
    await links.close()
    stranger.close()


async def test_a_call_that_waits_to_be_sent_was_surely_not_acted_upon(
    neighbour: Neighbour, links: PeerLinks
) -> None:
    calls = [asyncio.create_task(links.call(2, PARK, b"", timeout_ms=5_000)) for _ in range(4)]
    await until(lambda: neighbour.parked == 4)
    assert not (await failure_of(links, timeout_ms=30)).was_sent
    neighbour.close()
    for call in calls:
        with pytest.raises(PeerUnreachable) as caught:
            await call
        assert caught.value.was_sent


async def test_what_waits_to_be_sent_survives_a_broken_connection() -> None:
    async def answer_the_second(stream: Stream) -> None:
        await stream.greet()
        correlation, kind, _, body = await stream.read()
        if stranger.connections > 1:
            stream.send(correlation, kind, body)
            await stream.is_closed()

    stranger = Stranger(answer_the_second)
    links = links_to(await stranger.open(), LinkBounds(in_flight_max=1))
    first, second = await asyncio.gather(
        ask(links, b"first"), ask(links, b"second"), return_exceptions=True
    )
    assert isinstance(first, PeerUnreachable)
    assert first.was_sent
    assert second == b"second"
    await links.close()
    stranger.close()


async def test_a_node_that_is_not_registered_is_not_tried() -> None:
    links = links_to(None)
    failure = await failure_of(links)
    assert str(failure) == "node 2 is not registered"
    assert not failure.was_sent
    await links.close()


async def test_a_node_that_is_down_is_found_again() -> None:
    neighbour, port = Neighbour(), free_port()
    links = links_to(await neighbour.open(port))
    await ask(links)
    neighbour.close()
    with capture_logs() as logs:
        assert (await failure_of(links)).was_sent, "it was gone before anybody knew"
        for _ in range(20):
            failure = await failure_of(links)
            assert not failure.was_sent
            assert "refused" in str(failure)
        again = Neighbour()
        await again.open(port)
        await asyncio.sleep(QUICK.backoff_ms_max / 1_000)
        assert await ask(links) == b"x"
    assert [each["event"] for each in logs] == ["node is unreachable", "node is reachable again"]
    await links.close()
    again.close()


class Dials:
    """A network on which nobody answers."""

    def __init__(self) -> None:
        self.count = 0

    async def dial(self, host: str, port: int, new_session: NewSession) -> None:
        self.count += 1
        raise ConnectionRefusedError

    async def listen(self, host: str, port: int, new_session: NewSession) -> None:
        raise AssertionError


async def test_calls_fail_fast_and_attempts_become_rare_while_a_node_is_down() -> None:
    network = Dials()
    address = ["10.0.0.1"]
    links = PeerLinks(
        network,  # type: ignore[arg-type]
        lambda _: (address[0], 1),
        lambda: hello_of(1),
        bounds=LinkBounds(backoff_ms_min=10_000, backoff_ms_max=60_000),
    )
    for _ in range(10):
        assert not (await failure_of(links)).was_sent
    assert network.count == 1
    # It registered again, or has moved: then there is no reason to wait.
    links.expect(2)
    await failure_of(links)
    assert network.count == 2
    address[0] = "10.0.0.2"
    await failure_of(links)
    await failure_of(links)
    assert network.count == 3
    await links.close()


async def test_a_node_may_move() -> None:
    first, second = Neighbour(), Neighbour()
    addresses = [await first.open(), await second.open()]
    links = PeerLinks(TcpNetwork(), lambda _: addresses[0], lambda: hello_of(1), bounds=QUICK)
    await ask(links)
    first.close()
    del addresses[0]
    await failure_of(links)
    assert await ask(links) == b"x"
    assert second.callers
    await links.close()
    second.close()


async def test_a_frozen_node_is_noticed_though_its_connection_is_open() -> None:
    async def freeze(stream: Stream) -> None:
        await stream.greet()
        await asyncio.sleep(10)

    stranger = Stranger(freeze)
    links = links_to(await stranger.open())
    failure = await failure_of(links, timeout_ms=60_000)
    assert failure.was_sent
    assert str(failure) == "node 2 does not respond"
    await links.close()
    stranger.close()


async def test_a_node_that_thinks_long_is_not_given_up(
    neighbour: Neighbour, links: PeerLinks
) -> None:
    call = asyncio.create_task(links.call(2, PARK, b"", timeout_ms=60_000))
    await asyncio.sleep(6 * QUICK.ping_after_ms / 1_000)
    assert not call.done()
    assert neighbour.parked == 1
    call.cancel()


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    async def say_nothing(stream: Stream) -> None:
        await asyncio.sleep(10)

    stranger = Stranger(say_nothing)
    links = links_to(await stranger.open())
    failure = await failure_of(links)
    assert not failure.was_sent
    assert "did not accept a connection within 300 ms" in str(failure)
    await links.close()
    stranger.close()


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (hello_of(2, cluster_id="other"), "belongs to cluster other"),
        (hello_of(3), "node 3 listens there"),
        (hello_of(2, version=9), "speaks version 9"),
        (hello_of(1), "two nodes are number 1"),
    ],
)
async def test_a_peer_that_is_another_is_not_talked_to(hello: Hello, said: str) -> None:
    async def pose(stream: Stream) -> None:
        await stream.greet(hello)
        await stream.is_closed()

    stranger = Stranger(pose)
    links = links_to(await stranger.open())
    with capture_logs() as logs:
        failure = await failure_of(links)
    assert not failure.was_sent
    assert said in str(failure)
    assert said in logs[0]["reason"]
    await links.close()
    stranger.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00" * 100,
        b"\xff" * 100,
    ],
)
async def test_what_is_no_node_is_not_talked_to(answer: bytes) -> None:
    async def pose(stream: Stream) -> None:
        stream.writer.write(answer)
        await stream.is_closed()

    stranger = Stranger(pose)
    links = links_to(await stranger.open())
    failure = await failure_of(links)
    assert not failure.was_sent
    assert "sent a malformed answer" in str(failure)
    await links.close()
    stranger.close()


async def test_a_garbled_answer_ends_the_connection_with_an_unknown_outcome() -> None:
    async def garble(stream: Stream) -> None:
        await stream.greet()
        correlation, kind, _, _ = await stream.read()
        stream.send(correlation + stranger.connections % 2, kind, b"x", status=7)
        await stream.is_closed()

    stranger = Stranger(garble)
    links = links_to(await stranger.open())
    for _ in range(2):
        failure = await failure_of(links)
        assert failure.was_sent
        assert "sent a malformed answer" in str(failure)
    await links.close()
    stranger.close()


async def test_a_node_that_registered_again_introduces_itself_again(
    neighbour: Neighbour,
) -> None:
    epoch = [5]
    address = neighbour.listener.address
    links = PeerLinks(
        TcpNetwork(),
        lambda _: address,
        lambda: Hello(cluster_id="cluster", node=1, epoch=epoch[0]),
    )
    await ask(links)
    parked = asyncio.create_task(links.call(2, PARK, b"", timeout_ms=5_000))
    await until(lambda: neighbour.parked == 1)
    epoch[0] = 6
    await ask(links)
    assert [caller.epoch for caller in neighbour.callers] == [5, 6]
    # What was asked before goes on, and then the old connection has no use any more.
    assert not parked.done()
    assert neighbour.door.connection_count == 2
    parked.cancel()
    await until(lambda: neighbour.door.connection_count == 1)
    await links.close()


async def test_nothing_is_asked_under_an_epoch_that_ended_while_connecting(
    neighbour: Neighbour,
) -> None:
    epoch = [5]

    class Slow(TcpNetwork):
        async def dial(self, host: str, port: int, new_session: NewSession) -> None:
            await super().dial(host, port, new_session)
            epoch[0] = 6

    address = neighbour.listener.address
    links = PeerLinks(
        Slow(), lambda _: address, lambda: Hello(cluster_id="cluster", node=1, epoch=epoch[0])
    )
    assert await ask(links) == b"x"
    assert [caller.epoch for caller in neighbour.callers] == [6]
    await links.close()


async def test_closing_ends_every_call(neighbour: Neighbour, links: PeerLinks) -> None:
    calls = [asyncio.create_task(links.call(2, PARK, b"", timeout_ms=5_000)) for _ in range(6)]
    await until(lambda: neighbour.parked == QUICK.in_flight_max)
    await links.close()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [each.was_sent for each in outcomes if isinstance(each, PeerUnreachable)] == [
        *(True,) * 4,
        *(False,) * 2,
    ]
    assert not (await failure_of(links)).was_sent
    await until(lambda: neighbour.door.connection_count == 0)


async def test_a_forgotten_node_has_no_connections(neighbour: Neighbour, links: PeerLinks) -> None:
    await ask(links)
    links.forget(2)
    await until(lambda: neighbour.door.connection_count == 0)
    assert await ask(links) == b"x"
