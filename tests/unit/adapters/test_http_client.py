"""Posting to endpoints, kind and hostile, over real sockets."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest

from duolog.adapters import http_client, http_kept
from duolog.adapters.http import serve_http
from duolog.adapters.http_client import HttpPoster
from duolog.ports.http import Allow, Poster, PushFailed, Request, Response

pytestmark = pytest.mark.every_event_loop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOOPBACK = ip_address("127.0.0.1")

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def anywhere(host: str, address: IPv4Address | IPv6Address, port: int) -> bool:
    return True


class Endpoint:
    def __init__(self) -> None:
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@asynccontextmanager
async def endpoint(script: Script, **serving: Any) -> AsyncIterator[Endpoint]:
    """Runs the script for every connection, and closes it at the script's end."""
    endpoint = Endpoint()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoint.connections += 1
        try:
            await script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **serving)
    endpoint.port = server.sockets[0].getsockname()[1]
    try:
        yield endpoint
    finally:
        server.close()


@pytest.fixture
async def poster() -> AsyncIterator[HttpPoster]:
    poster = HttpPoster()
    yield poster
    poster.close()


async def post(poster: Poster, url: str, *, allow: Allow = anywhere, timeout_s: float = 5) -> int:
    return await poster.post(
        url, ((b"X-Kind", b"test"),), b"body", timeout_s=timeout_s, allow=allow
    )


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(4)


def answering(*answers: bytes) -> Script:
    """Each request of a connection gets the next answer; after the last it is closed."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_request(reader)
            writer.write(answer)
            await writer.drain()

    return script


async def always_ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await read_request(reader)
        writer.write(OK)


async def test_a_post_arrives_as_it_was_given(poster: HttpPoster) -> None:
    seen: list[Request] = []

    def handler(request: Request) -> Response:
        seen.append(request)
        return Response(202, (), b"taken")

    server = await serve_http(handler, "127.0.0.1", 0)
    port = server.address[1]
    assert await post(poster, f"http://127.0.0.1:{port}/a/b?c=d%20e") == 202
    await server.close()
    (request,) = seen
    assert (request.method, request.path, request.query) == ("POST", "/a/b", "c=d%20e")
    assert request.body == b"body"
    assert request.headers[b"x-kind"] == b"test"
    assert request.headers[b"host"] == b"127.0.0.1:%d" % port


@pytest.mark.parametrize("status", [204, 302, 404, 500])
async def test_the_status_is_told_and_nothing_follows_from_it(
    poster: HttpPoster, status: int
) -> None:
    async with endpoint(always_ok) as elsewhere:
        head = f"HTTP/1.1 {status} X\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n"
        async with endpoint(answering(head.encode())) as asked:
            assert await post(poster, asked.url) == status
        assert elsewhere.connections == 0


async def test_a_connection_is_kept_for_the_next_request(poster: HttpPoster) -> None:
    async with endpoint(always_ok) as asked:
        for _ in range(5):
            assert await post(poster, asked.url) == 200
        assert asked.connections == 1
        assert poster.kept == 1


async def test_kept_connections_are_bounded(
    poster: HttpPoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_kept, "KEPT_PER_ENDPOINT_MAX", 3)
    async with endpoint(always_ok) as asked:
        await asyncio.gather(*(post(poster, asked.url) for _ in range(10)))
        assert poster.kept <= 3
        monkeypatch.setattr(http_kept, "KEPT_MAX", 3)
        async with endpoint(always_ok) as other:
            await asyncio.gather(*(post(poster, other.url) for _ in range(10)))
            assert poster.kept <= 3


async def test_a_kept_connection_is_closed_after_a_while(
    poster: HttpPoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_kept, "KEPT_SECONDS_MAX", 0.05)
    closed = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await reader.read()
        closed.set()

    async with endpoint(script) as asked:
        await post(poster, asked.url)
        await asyncio.wait_for(closed.wait(), 5)
        assert poster.kept == 0


async def test_an_old_connection_is_not_used_again(
    poster: HttpPoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_kept, "AGE_SECONDS_MAX", 0.0)
    async with endpoint(always_ok) as asked:
        await post(poster, asked.url)
        await post(poster, asked.url)
        assert asked.connections == 2


async def test_a_kept_connection_that_was_closed_meanwhile_fails_no_request(
    poster: HttpPoster,
) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await read_request(reader)

    async with endpoint(script) as asked:
        for _ in range(3):
            assert await post(poster, asked.url) == 200
        assert asked.connections == 3


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, 200),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200),
        (b"HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 201),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut", 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 9_000_000, 200),
    ],
    ids=["continue", "hints", "unbounded", "1.0", "chunked", "cut", "bad-chunks", "huge"],
)
async def test_an_answer_counts_by_its_head(poster: HttpPoster, answer: bytes, status: int) -> None:
    async with endpoint(answering(answer)) as asked:
        assert await post(poster, asked.url) == status


async def test_a_body_that_never_ends_holds_nobody_up(poster: HttpPoster) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            await writer.drain()

    async with endpoint(script) as asked:
        for _ in range(2):
            assert await post(poster, asked.url, timeout_s=2) == 200
        assert asked.connections == 2


@pytest.mark.parametrize("surplus", [OK, b"nonsense"])
async def test_an_answer_that_nobody_asked_for_is_given_to_nobody(
    poster: HttpPoster, surplus: bytes
) -> None:
    forged = surplus.replace(b"200", b"500")
    async with endpoint(answering(OK + forged, forged)) as asked:
        assert await post(poster, asked.url) == 200
        await asyncio.sleep(0.05)
        assert await post(poster, asked.url) == 200
        assert asked.connections == 2


@pytest.mark.parametrize("late", [OK, b"nonsense"])
async def test_bytes_that_come_while_nothing_is_asked_end_the_connection(
    poster: HttpPoster, late: bytes
) -> None:
    left = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(late)
        await reader.read()
        left.set()

    async with endpoint(script) as asked:
        assert await post(poster, asked.url) == 200
        await asyncio.wait_for(left.wait(), 10)
        assert await post(poster, asked.url) == 200
        assert asked.connections == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nConte", "closed the connection"),
        (b"SSH-2.0-OpenSSH\r\n", "HTTP"),
        (b"HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "switches protocols"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "closed the connection"),
    ],
)
async def test_without_an_answer_a_push_fails(
    poster: HttpPoster, answer: bytes, reason: str
) -> None:
    async with endpoint(answering(answer)) as asked:
        with pytest.raises(PushFailed, match=reason):
            await post(poster, asked.url)
    assert poster.kept == 0


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 ", b"x"),
        (b"HTTP/1.1 200 OK\r\nA: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["status", "value", "headers", "interim"],
)
async def test_an_endless_head_is_given_up(poster: HttpPoster, start: bytes, more: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(start)
        while True:
            writer.write(more * 1000)
            await writer.drain()

    async with endpoint(script) as asked:
        with pytest.raises(PushFailed, match="longer than"):
            await post(poster, asked.url)


async def test_a_silent_endpoint_is_given_up_in_time_and_disconnected(poster: HttpPoster) -> None:
    left = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        left.set()

    async with endpoint(script) as asked:
        with pytest.raises(PushFailed, match=r"within 0\.1 s"):
            await post(poster, asked.url, timeout_s=0.1)
        await asyncio.wait_for(left.wait(), 5)


async def test_a_cancelled_post_leaves_no_connection(poster: HttpPoster) -> None:
    asked_for, left = asyncio.Event(), asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked_for.set()
        await reader.read()
        left.set()

    async with endpoint(script) as asked:
        task = asyncio.ensure_future(post(poster, asked.url))
        await asked_for.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(left.wait(), 5)


async def test_a_closed_port_fails_the_push(poster: HttpPoster) -> None:
    async with endpoint(always_ok) as asked:
        url = asked.url
    with pytest.raises(PushFailed, match="cannot be reached"):
        await post(poster, url)


async def test_an_address_that_is_not_allowed_is_never_connected_to(poster: HttpPoster) -> None:
    asked_about: list[tuple[str, str, int]] = []

    def nowhere(host: str, address: IPv4Address | IPv6Address, port: int) -> bool:
        asked_about.append((host, str(address), port))
        return False

    async with endpoint(always_ok) as asked:
        with pytest.raises(PushFailed, match="allowed"):
            await post(poster, asked.url, allow=nowhere)
        assert asked.connections == 0
        assert asked_about == [("127.0.0.1", "127.0.0.1", asked.port)]


async def test_a_kept_connection_is_not_used_for_who_may_not(poster: HttpPoster) -> None:
    async with endpoint(always_ok) as asked:
        await post(poster, asked.url)
        with pytest.raises(PushFailed, match="allowed"):
            await post(poster, asked.url, allow=lambda host, address, port: False)


async def test_only_the_very_address_that_was_allowed_is_connected_to(
    poster: HttpPoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolutions = 0

    async def resolve(host: str, port: int) -> list[IPv4Address | IPv6Address]:
        nonlocal resolutions
        resolutions += 1
        assert host == "hooks.invalid"
        return [ip_address("192.0.2.1"), LOOPBACK]

    monkeypatch.setattr(http_client, "_resolve", resolve)
    async with endpoint(always_ok) as asked:
        url = f"http://hooks.invalid:{asked.port}/"
        allow = lambda host, address, port: address == LOOPBACK  # noqa: E731
        assert await post(poster, url, allow=allow) == 200
        assert resolutions == 1


async def test_the_next_address_is_tried_when_one_refuses(
    poster: HttpPoster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str, port: int) -> list[IPv4Address | IPv6Address]:
        return [ip_address("127.0.0.2"), LOOPBACK]

    monkeypatch.setattr(http_client, "_resolve", resolve)
    async with endpoint(always_ok) as asked:
        assert await post(poster, asked.url) == 200


async def test_a_name_that_does_not_exist_fails_the_push(poster: HttpPoster) -> None:
    with pytest.raises(PushFailed, match=r"nowhere\.invalid"):
        await post(poster, "http://nowhere.invalid/secret")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "http:///x",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1/\r\nX: y",
        "http://127.0.0.1/ HTTP/1.1",
        "http://127.0.0.1/ü",
        "http://[::1/",
    ],
)
async def test_a_url_that_is_none_fails_the_push(poster: HttpPoster, url: str) -> None:
    with pytest.raises(PushFailed, match="understood"):
        await post(poster, url)


async def test_a_header_cannot_write_another(poster: HttpPoster) -> None:
    with pytest.raises(AssertionError):
        await poster.post(
            "http://127.0.0.1/", ((b"A", b"b\r\nC: d"),), b"", timeout_s=1, allow=anywhere
        )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For localhost, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2"
    command += f" -addext subjectAltName=DNS:localhost -keyout {path} -out {path}.crt"
    subprocess.run(command.split(), check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_tls_reaches_who_proves_to_be_the_host_and_nobody_else(certificate: Path) -> None:
    trusting = HttpPoster(ssl.create_default_context(cafile=certificate))
    async with endpoint(always_ok, ssl=server_tls(certificate)) as asked:
        for _ in range(2):
            assert await post(trusting, f"https://localhost:{asked.port}/") == 200
        with pytest.raises(PushFailed, match="certificate"):
            await post(trusting, f"https://127.0.0.1:{asked.port}/")
        with pytest.raises(PushFailed, match="certificate"):
            await post(HttpPoster(), f"https://localhost:{asked.port}/")
    trusting.close()


async def test_tls_is_not_spoken_with_who_does_not(poster: HttpPoster) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await reader.read()

    async with endpoint(script) as asked:
        with pytest.raises(PushFailed, match="cannot be reached"):
            await post(poster, f"https://localhost:{asked.port}/")
