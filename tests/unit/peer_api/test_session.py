"""What another node meets at the door, frame by frame."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.harness.peers import ECHO, FAIL, PARK, Neighbour, Stream, hello_of, until, visit

from duolog.adapters.disk import LocalDisk
from duolog.model.errors import InvalidRequest, PeerFailed, TopicExists, UnsupportedVersion
from duolog.peer_api.door import DoorBounds, check_peer_listener
from duolog.ports.peers import Caller
from duolog.ports.transport import Chunk, FileRange
from duolog.wire.peer import frames
from duolog.wire.peer.frames import OK, REFUSED
from duolog.wire.peer.hello import Hello, decode_hello, encode_hello
from duolog.wire.peer.kinds import PeerKind
from duolog.wire.peer.refusals import decode_refusal

pytestmark = pytest.mark.every_event_loop

BOUNDS = DoorBounds(in_flight_max=60, backlog_bytes_max=1 << 20, hello_ms_max=1_000)


@pytest.fixture
async def neighbour() -> AsyncIterator[Neighbour]:
    neighbour = Neighbour(bounds=BOUNDS)
    await neighbour.open()
    yield neighbour
    neighbour.close()


@pytest.fixture
async def stream(neighbour: Neighbour) -> AsyncIterator[Stream]:
    stream = await visit(neighbour.listener.address, hello_of(1))
    yield stream
    stream.writer.close()


async def test_a_hello_is_answered_with_one(neighbour: Neighbour) -> None:
    stream = await visit(neighbour.listener.address)
    stream.send(0, PeerKind.HELLO, encode_hello(hello_of(1)))
    correlation, kind, status, body = await stream.read()
    assert (correlation, kind, status) == (0, PeerKind.HELLO, OK)
    assert decode_hello(memoryview(body)) == hello_of(2)
    stream.writer.close()


@pytest.mark.parametrize(
    ("hello", "refusal", "said"),
    [
        (hello_of(1, cluster_id="other"), InvalidRequest, "belongs to cluster other"),
        (hello_of(2), InvalidRequest, "two nodes are number 2"),
        (hello_of(1, version=9), UnsupportedVersion, "speaks version 9"),
    ],
)
async def test_who_is_not_let_in_is_told_why_and_so_is_the_operator(
    neighbour: Neighbour, hello: Hello, refusal: type[Exception], said: str
) -> None:
    stream = await visit(neighbour.listener.address)
    with capture_logs() as logs:
        stream.send(0, PeerKind.HELLO, encode_hello(hello))
        stream.send(1, ECHO, b"never served")
        _, kind, status, body = await stream.read()
        assert (kind, status) == (PeerKind.HELLO, REFUSED)
        assert await stream.is_closed()
    found = decode_refusal(memoryview(body))
    assert type(found) is refusal
    assert said in str(found)
    assert said in logs[0]["reason"]
    assert neighbour.callers == []


async def test_requests_are_served_side_by_side(neighbour: Neighbour, stream: Stream) -> None:
    stream.send(1, PARK)
    stream.send(2, ECHO, b"hello")
    assert await stream.read() == (2, ECHO, OK, b"hello")
    assert neighbour.callers == [Caller(node=1, epoch=10)]
    assert neighbour.parked == 1


async def test_a_ping_is_answered_at_once(stream: Stream) -> None:
    stream.send(1, PARK)
    stream.send(2, PeerKind.PING)
    assert await stream.read() == (2, PeerKind.PING, OK, b"")


async def test_what_is_given_up_is_cancelled_and_not_answered(
    neighbour: Neighbour, stream: Stream
) -> None:
    stream.send(1, PARK)
    stream.send(1, PeerKind.CANCEL)
    stream.send(99, PeerKind.CANCEL)
    stream.send(2, ECHO)
    assert (await stream.read())[0] == 2
    await until(lambda: neighbour.parked == 0)


async def test_what_is_served_ends_with_the_connection(
    neighbour: Neighbour, stream: Stream
) -> None:
    other = await visit(neighbour.listener.address, hello_of(3))
    for correlation in range(3):
        stream.send(correlation, PARK)
    other.send(1, PARK)
    await until(lambda: neighbour.parked == 4)
    stream.writer.close()
    await until(lambda: neighbour.cancelled == 3)
    assert neighbour.parked == 1
    other.writer.close()


async def test_a_request_of_a_kind_not_known_is_refused_and_the_rest_goes_on(
    stream: Stream,
) -> None:
    stream.send(1, 999)
    correlation, kind, status, body = await stream.read()
    assert (correlation, kind, status) == (1, 999, REFUSED)
    assert type(decode_refusal(memoryview(body))) is UnsupportedVersion
    stream.send(2, ECHO, b"x")
    assert (await stream.read())[3] == b"x"


async def test_a_bug_is_logged_and_ends_nothing_else(stream: Stream) -> None:
    with capture_logs() as logs:
        stream.send(1, PARK)
        stream.send(2, FAIL)
        correlation, _, status, body = await stream.read()
    assert (correlation, status) == (2, REFUSED)
    assert type(decode_refusal(memoryview(body))) is PeerFailed
    (event,) = logs
    assert (event["event"], event["node"]) == ("a node's request could not be served", 1)
    stream.send(3, ECHO, b"x")
    assert (await stream.read())[3] == b"x"


async def test_what_is_no_handler_or_no_answer_ends_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_coroutine(caller: Caller, body: memoryview) -> bytes:
        raise RuntimeError("a bug")

    async def too_large(caller: Caller, body: memoryview) -> bytes:
        return bytes(2_000)

    async def as_it_should(caller: Caller, body: memoryview) -> bytes:
        return b"x"

    monkeypatch.setattr(frames, "BODY_BYTES_MAX", 1_000)
    neighbour = Neighbour(handlers={16: no_coroutine, 17: too_large, 18: as_it_should})  # type: ignore[dict-item]
    stream = await visit(await neighbour.open(), hello_of(1))
    with capture_logs() as logs:
        for kind, expected in ((16, REFUSED), (17, REFUSED), (18, OK)):
            stream.send(kind, kind)
            assert (await stream.read())[:3] == (kind, kind, expected)
    assert [event["kind"] for event in logs] == [16, 17]
    stream.writer.close()
    neighbour.close()


async def test_a_refusal_travels() -> None:
    async def refuse(caller: Caller, body: memoryview) -> bytes:
        raise TopicExists("there is one")

    neighbour = Neighbour(handlers={ECHO: refuse})
    stream = await visit(await neighbour.open(), hello_of(1))
    with capture_logs() as logs:
        stream.send(1, ECHO)
        _, _, status, body = await stream.read()
    assert status == REFUSED
    assert repr(decode_refusal(memoryview(body))) == "TopicExists('there is one')"
    assert logs == []
    stream.writer.close()
    neighbour.close()


async def test_answers_can_be_sent_from_files(tmp_path: Path) -> None:
    file = LocalDisk(str(tmp_path)).open("a", create=True)
    file.pwritev([b"0123456789" * 100_000], 0)

    async def read(caller: Caller, body: memoryview) -> list[Chunk]:
        return [b"head", FileRange(file, 5, 500_000), b"tail"]

    neighbour = Neighbour(handlers={ECHO: read})
    stream = await visit(await neighbour.open(), hello_of(1))
    stream.send(1, ECHO)
    stream.send(2, ECHO)
    for correlation in (1, 2):
        found, _, _, body = await stream.read()
        assert found == correlation
        assert body == b"head" + b"5678901234" * 50_000 + b"tail"
    stream.writer.close()
    neighbour.close()


async def test_who_asks_for_more_at_once_than_nodes_do_has_to_go(
    neighbour: Neighbour, stream: Stream
) -> None:
    for correlation in range(BOUNDS.in_flight_max):
        stream.send(correlation, PARK)
    stream.send(0, PeerKind.CANCEL)
    stream.send(98, PARK)
    await until(lambda: neighbour.parked == BOUNDS.in_flight_max)
    with capture_logs() as logs:
        stream.send(99, PARK)
        assert await stream.is_closed()
    assert logs[0]["reason"] == "too many concurrent requests"
    await until(lambda: neighbour.parked == 0)


async def test_many_requests_in_one_read_are_all_served() -> None:
    roomy = Neighbour()
    stream = await visit(await roomy.open(), hello_of(1))
    for correlation in range(2_000):
        stream.send(correlation, ECHO, b"x")
    assert {(await stream.read())[0] for _ in range(2_000)} == set(range(2_000))
    stream.writer.close()
    roomy.close()


async def test_who_does_not_take_answers_is_not_served_on(neighbour: Neighbour) -> None:
    stream = await visit(neighbour.listener.address, hello_of(1))
    stream.writer.transport.pause_reading()  # type: ignore[attr-defined]
    body = bytes(1 << 20)
    for correlation in range(50):
        stream.send(correlation, ECHO, body)
    await asyncio.sleep(0.1)
    assert len(neighbour.callers) < 30
    stream.writer.transport.resume_reading()  # type: ignore[attr-defined]
    for _ in range(50):
        await stream.read()
    assert len(neighbour.callers) == 50
    stream.writer.close()


async def test_who_does_not_say_who_it_is_has_to_go(neighbour: Neighbour) -> None:
    with capture_logs() as logs:
        stream = await visit(neighbour.listener.address)
        assert await stream.is_closed()
    assert "no hello arrived in time" in logs[0]["reason"]
    stream.writer.close()


async def test_closing_the_door_ends_everything(neighbour: Neighbour, stream: Stream) -> None:
    stream.send(1, PARK)
    await until(lambda: neighbour.parked == 1)
    neighbour.close()
    assert await stream.is_closed()
    await until(lambda: neighbour.parked == 0)
    assert neighbour.door.connection_count == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_plain_connections_are_for_loopback(host: str) -> None:
    check_peer_listener(host, tls=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "node1.example"])
def test_elsewhere_nodes_need_certificates(host: str) -> None:
    with pytest.raises(ValueError, match="duolog cluster certs"):
        check_peer_listener(host, tls=False)
    check_peer_listener(host, tls=True)
