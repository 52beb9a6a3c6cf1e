"""Answers that come later without a task, over real sockets and over a recorded one."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from duolog.adapters.http import HttpServer, serve_http
from duolog.adapters.http_connection import HttpConnection
from duolog.adapters.http_pool import HttpLimits, HttpPool
from duolog.ports.http import Deferred, Handler, Request, Response

pytestmark = pytest.mark.every_event_loop

GET = b"GET /%b HTTP/1.1\r\nHost: x\r\n\r\n"


def answer(request: Request) -> Response:
    return Response(200, (), request.path.encode())


class Door:
    """Keeps what it was asked, so that a test says when it is answered."""

    def __init__(self) -> None:
        self.asked: list[tuple[Request, Deferred]] = []
        self.abandoned: list[str] = []

    def __call__(self, request: Request) -> Deferred:
        deferred = Deferred()
        deferred.on_abandoned = lambda: self.abandoned.append(request.path)
        self.asked.append((request, deferred))
        return deferred

    async def wait_for(self, count: int) -> None:
        await eventually(lambda: len(self.asked) == count)

    def complete(self, number: int) -> None:
        request, deferred = self.asked[number]
        deferred.complete(answer(request))


class RecordedTransport:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> None:
        return None

    def set_write_buffer_limits(self, high: int) -> None:
        pass


def connect_recorded(handler: Handler) -> tuple[HttpConnection, RecordedTransport]:
    pool = HttpPool(handler, HttpLimits())
    pool.sweep(0.0)
    connection = HttpConnection(pool, asyncio.get_running_loop())
    transport = RecordedTransport()
    connection.connection_made(cast(Any, transport))
    return connection, transport


@asynccontextmanager
async def serving(handler: Handler, **limits: Any) -> AsyncIterator[HttpServer]:
    server = await serve_http(handler, "127.0.0.1", 0, HttpLimits(**limits))
    try:
        yield server
    finally:
        await server.close()


async def read_body(reader: asyncio.StreamReader) -> bytes:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return await reader.readexactly(length)


async def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not come to hold")


async def test_an_answer_that_is_there_on_return_leaves_at_once() -> None:
    def handler(request: Request) -> Deferred:
        deferred = Deferred()
        deferred.complete(answer(request))
        return deferred

    connection, transport = connect_recorded(handler)
    connection.data_received(GET % b"1" + GET % b"2")
    (written,) = transport.written
    assert written.count(b"HTTP/1.1 200") == 2


async def test_an_answer_leaves_when_it_is_completed() -> None:
    door = Door()
    async with serving(door) as server:
        reader, writer = await asyncio.open_connection(*server.address)
        for number in range(3):
            writer.write(GET % b"%d" % number)
            await door.wait_for(number + 1)
            door.complete(number)
            assert await read_body(reader) == b"/%d" % number
        writer.close()
    assert door.abandoned == []


async def test_requests_behind_it_wait_for_their_turn() -> None:
    door = Door()
    async with serving(door) as server:
        reader, writer = await asyncio.open_connection(*server.address)
        writer.write(b"".join(GET % b"%d" % number for number in range(10)))
        for number in range(10):
            await door.wait_for(number + 1)
            door.complete(number)
            assert await read_body(reader) == b"/%d" % number
        writer.close()


async def test_the_next_handler_does_not_run_inside_the_completion() -> None:
    door = Door()
    connection, _ = connect_recorded(door)
    connection.data_received(GET % b"1" + GET % b"2")
    door.complete(0)
    assert len(door.asked) == 1
    await asyncio.sleep(0)
    assert len(door.asked) == 2


async def test_answers_that_come_in_one_turn_leave_in_one_write() -> None:
    first = Deferred()

    def handler(request: Request) -> Response | Deferred:
        return first if request.path == "/1" else answer(request)

    connection, transport = connect_recorded(handler)
    connection.data_received(GET % b"1" + GET % b"2" + GET % b"3")
    first.complete(Response(200, (), b"/1"))
    await asyncio.sleep(0)
    (written,) = transport.written
    assert re.findall(rb"\r\n\r\n(/\d)", written) == [b"/1", b"/2", b"/3"]


async def test_it_is_abandoned_once_when_its_client_goes_and_then_completed_in_vain() -> None:
    door = Door()
    async with serving(door) as server:
        _, writer = await asyncio.open_connection(*server.address)
        writer.write(GET % b"1" + GET % b"2")
        await door.wait_for(1)
        writer.close()
        await eventually(lambda: server.connections == 0)
        assert door.abandoned == ["/1"]
        door.complete(0)
        door.complete(0)
        await asyncio.sleep(0)
    assert door.abandoned == ["/1"]
    assert len(door.asked) == 1


async def test_a_client_that_goes_between_an_answer_and_the_next_request_is_survived() -> None:
    door = Door()
    async with serving(door) as server:
        _, writer = await asyncio.open_connection(*server.address)
        writer.write(GET % b"1" + GET % b"2")
        await door.wait_for(1)
        writer.transport.abort()
        door.complete(0)
        await eventually(lambda: server.connections == 0)


async def test_it_is_abandoned_when_the_server_stops_waiting_for_it() -> None:
    door = Door()
    async with serving(door) as server:
        _, writer = await asyncio.open_connection(*server.address)
        writer.write(GET % b"1")
        await door.wait_for(1)
        await server.close(0.01)
        await eventually(lambda: door.abandoned == ["/1"])
        writer.close()


async def test_it_is_not_timed_out() -> None:
    door = Door()
    async with serving(door, idle_seconds_max=0.1, head_seconds_max=0.1) as server:
        reader, writer = await asyncio.open_connection(*server.address)
        writer.write(GET % b"1")
        await asyncio.sleep(0.3)
        door.complete(0)
        assert await read_body(reader) == b"/1"
        writer.close()


async def test_a_body_counts_against_the_total_while_its_answer_is_awaited() -> None:
    door = Door()
    put = b"PUT /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n" + b"x" * 600
    async with serving(door, bodies_bytes_total_max=1000, body_bytes_granted=0) as server:
        reader, writer = await asyncio.open_connection(*server.address)
        writer.write(put)
        await door.wait_for(1)
        refused_reader, refused = await asyncio.open_connection(*server.address)
        refused.write(put)
        assert (await refused_reader.readline()).startswith(b"HTTP/1.1 503")
        refused.close()
        door.complete(0)
        await read_body(reader)
        writer.write(put)
        await door.wait_for(2)
        writer.close()


async def test_a_connection_leaves_nothing_to_the_garbage_collector() -> None:
    door = Door()
    gc.collect()
    gc.disable()
    try:
        connection, transport = connect_recorded(door)
        connection.data_received(GET % b"1" + GET % b"2")
        door.complete(0)
        await asyncio.sleep(0)
        connection.connection_lost(None)
        assert door.abandoned == ["/2"]
        del connection, transport
        door.asked.clear()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_second_answer_to_one_request_is_a_bug() -> None:
    deferred = Deferred()
    deferred.complete(Response(200, (), b""))
    with pytest.raises(AssertionError):
        deferred.complete(Response(200, (), b""))
