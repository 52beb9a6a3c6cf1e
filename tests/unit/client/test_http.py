"""One request, one answer, on a connection that is kept while the server keeps it."""

import asyncio

import pytest
from tests.unit.client.http_server import RawHttpServer, answer

from duolog.client import http
from duolog.client.errors import Garbled, Unreachable
from duolog.client.http import HttpClient


async def test_a_request_arrives_as_it_was_given(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: answer(201, b"made", "X-Colour: Blue")
    async with HttpClient(http_server.endpoint) as client:
        answered = await client.request("POST", "/a?b=c", {"x-tag": "1"}, b"body")
    assert (answered.status, answered.body) == (201, b"made")
    assert answered.headers["x-colour"] == "Blue"
    (heard,) = http_server.heard
    assert (heard.method, heard.target, heard.body) == ("POST", "/a?b=c", b"body")
    assert heard.headers["host"] == http_server.address
    assert heard.headers["x-tag"] == "1"


async def test_the_connection_is_kept(http_server: RawHttpServer) -> None:
    async with HttpClient(http_server.endpoint) as client:
        for _ in range(3):
            await client.request("GET", "/")
    assert http_server.connections == 1


async def test_a_server_that_does_not_keep_it_gets_a_new_one(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: answer(200, b"", "Connection: close")
    async with HttpClient(http_server.endpoint) as client:
        for _ in range(2):
            await client.request("GET", "/")
    assert http_server.connections == 2


async def test_a_connection_that_was_closed_meanwhile_is_replaced(
    http_server: RawHttpServer,
) -> None:
    async with HttpClient(http_server.endpoint) as client:
        await client.request("GET", "/")
        await http_server.stop()
        await asyncio.sleep(0.01)
        await http_server.start()
        assert (await client.request("GET", "/")).status == 200


async def test_a_body_may_come_in_chunks(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    async with HttpClient(http_server.endpoint) as client:
        assert (await client.request("GET", "/")).body == b"abcde"


async def test_a_request_is_never_sent_twice(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: None
    async with HttpClient(http_server.endpoint) as client:
        with pytest.raises(Unreachable, match="closed the connection without an answer"):
            await client.request("POST", "/")
    assert len(http_server.heard) == 1


async def test_silence_ends_after_a_while(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: b""
    async with HttpClient(http_server.endpoint) as client:
        with pytest.raises(Unreachable, match=r"did not answer within 0\.05 s"):
            await client.request("GET", "/", seconds_max=0.05)


async def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="cannot be connected to: Connection refused"):
        await HttpClient(("127.0.0.1", 1)).request("GET", "/")


async def test_what_is_no_http_is_garbled(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: b"\x15\x03\x01\x00\x02\x02"
    async with HttpClient(http_server.endpoint) as client:
        with pytest.raises(Garbled, match="does not answer in HTTP"):
            await client.request("GET", "/")


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("BODY_BYTES_MAX", "has more than 10 bytes$"),
        ("HEADERS_BYTES_MAX", "has more than 10 bytes of headers$"),
    ],
)
async def test_an_answer_is_bounded_and_the_error_says_so(
    http_server: RawHttpServer, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    monkeypatch.setattr(http, limit, 10)
    http_server.respond = lambda heard: answer(200, bytes(100))
    async with HttpClient(http_server.endpoint) as client:
        with pytest.raises(Garbled, match=reason):
            await client.request("GET", "/")
