"""The HTTP server, over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from duolog.adapters.http import HttpServer, serve_http
from duolog.adapters.http_pool import HttpLimits
from duolog.ports.http import Handler, Request, Response

pytestmark = pytest.mark.every_event_loop

GET = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def echo(request: Request) -> Response:
    text = f"{request.method} {request.path} {request.query} ".encode() + request.body
    return Response(200, ((b"X-Echo", b"yes"),), text)


async def slow_echo(request: Request) -> Response:
    await asyncio.sleep(0.01)
    return echo(request)


def slow_then_fast(request: Request) -> Any:
    return slow_echo(request) if request.path == "/slow" else echo(request)


@asynccontextmanager
async def serving(handler: Handler, **limits: Any) -> AsyncIterator[HttpServer]:
    server = await serve_http(handler, "127.0.0.1", 0, HttpLimits(**limits))
    try:
        yield server
    finally:
        await server.close()


async def connect(server: HttpServer) -> Streams:
    return await asyncio.open_connection(*server.address)


async def exchange(server: HttpServer, data: bytes) -> bytes:
    """Everything the server says to these bytes, until it closes."""
    reader, writer = await connect(server)
    writer.write(data)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    return int(head.split()[1]), await reader.readexactly(length)


async def test_a_request_is_answered_and_the_connection_kept() -> None:
    async with serving(echo) as server:
        reader, writer = await connect(server)
        for number in (b"1", b"2"):
            writer.write(GET % number)
            assert await read_answer(reader) == (200, b"GET /%b  " % number)
        writer.close()


@pytest.mark.parametrize("handler", [echo, slow_echo, slow_then_fast])
async def test_pipelined_requests_are_answered_in_order(handler: Handler) -> None:
    paths = [b"slow" if number % 3 == 0 else b"%d" % number for number in range(100)]
    async with serving(handler, pipelined_max=8) as server:
        reader, writer = await connect(server)
        writer.write(b"".join(GET % path for path in paths))
        for path in paths:
            assert await read_answer(reader) == (200, b"GET /%b  " % path)
        writer.close()


async def test_head_has_the_length_and_not_the_body() -> None:
    async with serving(echo) as server:
        answer = await exchange(server, b"HEAD /x HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n")
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"Content-Length: 9" in head
    assert body == b""


async def test_a_client_that_asks_to_close_is_told_so_and_closed() -> None:
    async with serving(echo) as server:
        reader, writer = await connect(server)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 5)
        assert b"\r\nConnection: close\r\n" in answer
        writer.close()


async def test_a_client_that_expects_it_is_told_to_continue() -> None:
    async with serving(echo) as server:
        reader, writer = await connect(server)
        writer.write(
            b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert await read_answer(reader) == (200, b"PUT /  ok")
        writer.close()


async def test_a_refusal_comes_after_the_answers_before_it() -> None:
    async with serving(slow_echo) as server:
        answer = await exchange(server, GET % b"1" + b"nonsense\r\n\r\n")
    assert answer.index(b"HTTP/1.1 200") < answer.index(b"HTTP/1.1 400")


async def test_a_refused_upload_still_gets_to_read_why() -> None:
    async with serving(echo, body_bytes_max=1000) as server:
        reader, writer = await connect(server)
        writer.write(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n")
        writer.write(b"x" * 1_000_000)
        assert (await read_answer(reader))[0] == 413
        writer.close()


async def test_bodies_over_the_total_are_refused_and_the_total_is_given_back() -> None:
    arrived, release = asyncio.Event(), asyncio.Event()

    async def hold(request: Request) -> Response:
        arrived.set()
        await release.wait()
        return echo(request)

    put = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n" + b"x" * 600
    async with serving(hold, bodies_bytes_total_max=1000, body_bytes_granted=0) as server:
        first_reader, first = await connect(server)
        first.write(put)
        await arrived.wait()
        second_reader, second = await connect(server)
        second.write(put)
        assert (await read_answer(second_reader))[0] == 503
        second.close()
        release.set()
        assert (await read_answer(first_reader))[0] == 200
        first.write(put)
        assert (await read_answer(first_reader))[0] == 200
        first.close()


async def test_a_small_body_is_taken_while_others_have_all_the_memory() -> None:
    put = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    async with serving(echo, bodies_bytes_total_max=1000, body_bytes_granted=100) as server:
        _, slow = await connect(server)
        slow.write(put % 2000 + b"x" * 1000)
        await asyncio.sleep(0.05)
        reader, writer = await connect(server)
        writer.write(put % 100 + b"x" * 100)
        assert (await read_answer(reader))[0] == 200
        writer.write(put % 101 + b"x" * 101)
        assert (await read_answer(reader))[0] == 503
        for each in (slow, writer):
            each.close()


async def test_a_failing_handler_costs_one_answer_and_no_traceback() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(request: Request) -> Response:
        raise RuntimeError("secret")

    async def fail_later(request: Request) -> Response:
        raise RuntimeError("secret")

    for handler in (fail, fail_later):
        async with serving(handler) as server:
            reader, writer = await connect(server)
            for _ in range(2):
                writer.write(GET % b"")
                status, body = await read_answer(reader)
                assert status == 500
                assert b"secret" not in body
            writer.close()
    assert len(reported) == 4


async def closed_within(
    server: HttpServer, data: bytes, seconds: float
) -> tuple[bytes, asyncio.StreamWriter]:
    reader, writer = await connect(server)
    writer.write(data)
    return await asyncio.wait_for(reader.read(), seconds), writer


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHo", "head_seconds_max", b"HTTP/1.1 408"),
        (
            b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
            "body_seconds_max",
            b"HTTP/1.1 408",
        ),
        (b"", "idle_seconds_max", b""),
    ],
    ids=["head", "body", "idle"],
)
async def test_a_client_that_stalls_is_closed(data: bytes, limit: str, expected: bytes) -> None:
    async with serving(echo, **{limit: 0.1}) as server:
        answer, writer = await closed_within(server, data, 10)
        writer.close()
    assert answer.startswith(expected)
    assert bool(answer) == bool(expected)


async def test_a_client_that_reads_nothing_is_closed() -> None:
    def large(request: Request) -> Response:
        return Response(200, (), b"x" * 1_000_000)

    async with serving(large, write_seconds_max=0.2) as server:
        _, writer = await connect(server)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write((GET % b"") * 50)
        await eventually(lambda: server.connections == 1)
        await eventually(lambda: server.connections == 0)
        writer.close()


async def test_a_last_answer_is_not_cut_off_because_its_client_is_slow() -> None:
    def large(request: Request) -> Response:
        return Response(200, (), b"x" * 20_000_000)

    async with serving(large, linger_seconds_max=0.05) as server:
        reader, writer = await connect(server)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(0.3)
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert (await read_answer(reader))[1] == b"x" * 20_000_000
        writer.close()


async def test_a_request_is_not_timed_out_while_its_handler_waits() -> None:
    async def wait(request: Request) -> Response:
        await asyncio.sleep(0.3)
        return echo(request)

    async with serving(wait, idle_seconds_max=0.1, head_seconds_max=0.1) as server:
        reader, writer = await connect(server)
        writer.write(GET % b"")
        assert (await read_answer(reader))[0] == 200
        writer.close()


async def test_a_handler_is_cancelled_when_its_client_has_gone() -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> Response:
        entered.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return echo(request)

    async with serving(wait) as server:
        _, writer = await connect(server)
        writer.write(GET % b"")
        await entered.wait()
        writer.transport.abort()
        await asyncio.wait_for(cancelled.wait(), 5)


async def test_connections_over_the_maximum_are_turned_away_while_all_are_busy() -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> Response:
        entered.set()
        await release.wait()
        return echo(request)

    async with serving(wait, connections_max=2) as server:
        first_reader, first = await connect(server)
        first.write(GET % b"")
        await entered.wait()
        _, half_sent = await connect(server)
        half_sent.write(b"GET / HTTP/1.1\r\nHo")
        await asyncio.sleep(0.05)
        third_reader, third = await connect(server)
        assert (await asyncio.wait_for(third_reader.read(), 5)).startswith(b"HTTP/1.1 503")
        release.set()
        assert (await read_answer(first_reader))[0] == 200
        for writer in (first, half_sent, third):
            writer.close()


async def test_the_connection_that_is_idle_longest_makes_way_for_a_new_one() -> None:
    # The shortest limit says how fine the clock is that tells who is idle longest.
    async with serving(echo, connections_max=3, linger_seconds_max=0.4) as server:
        streams: list[Streams] = []
        for number in range(3):
            streams.append(await connect(server))
            streams[-1][1].write(GET % b"%d" % number)
            await read_answer(streams[-1][0])
            await asyncio.sleep(0.11)
        streams.append(await connect(server))
        assert await asyncio.wait_for(streams[0][0].read(), 5) == b""
        for reader, writer in streams[1:]:
            writer.write(GET % b"")
            assert (await read_answer(reader))[0] == 200
        for _, writer in streams:
            writer.close()


async def test_closing_lets_requests_in_progress_be_answered() -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> Response:
        entered.set()
        await release.wait()
        return echo(request)

    server = await serve_http(wait, "127.0.0.1", 0)
    idle_reader, idle = await connect(server)
    reader, writer = await connect(server)
    writer.write(GET % b"")
    await entered.wait()
    closing = asyncio.create_task(server.close(5))
    assert await asyncio.wait_for(idle_reader.read(), 5) == b""
    release.set()
    answer = await asyncio.wait_for(reader.read(), 5)
    assert b"Connection: close" in answer
    writer.close()
    idle.close()
    await asyncio.wait_for(closing, 5)
    assert server.connections == 0


async def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to hold")
