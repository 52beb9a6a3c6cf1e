"""More than anybody needs: connections, headers, bytes; and less than one can work with."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from tests.harness.node import Node
from tests.harness.process import resident_bytes
from tests.harness.sqs import Queue, client
from tests.harness.sqs_wire import SqsWire, http_request, json_request
from tests.harness.wire import connect
from tests.hostile.conftest import FRAME_SECONDS_MAX

pytestmark = pytest.mark.usefixtures("queues_stay_well")

MIB = 1 << 20
CONNECTIONS_MAX = 1_100
BODIES_BYTES_MAX = 64 * MIB
SWEEP_SECONDS = 15.0
"""Deadlines are looked at now and then, and the machine may be busy."""
IDLE_CONNECTIONS = 10_000
SPARE_DESCRIPTORS = 1_000
SERVED_SECONDS_MAX = 5.0
IDLE_BYTES_MAX = 16 << 10
"""Of memory, for a connection that does nothing."""


@contextmanager
def served_meanwhile(queue: Queue) -> Iterator[None]:
    """Another client has its messages go through while the block runs, and at its end."""
    yield
    started = time.monotonic()
    queue.send("served")
    queue.delete(queue.receive_one())
    assert time.monotonic() - started < SERVED_SECONDS_MAX


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < IDLE_CONNECTIONS + SPARE_DESCRIPTORS,
    reason="this process may not have that many connections",
)
def test_ten_thousand_idle_connections_cost_little_and_keep_nobody_out(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        queue = Queue.create(client(node.sqs))
        before = resident_bytes(node.pid)
        with ExitStack() as opened:
            idle = [opened.enter_context(connect(node.sqs)) for _ in range(IDLE_CONNECTIONS)]
            newcomers = [opened.enter_context(SqsWire(node.sqs)) for _ in range(20)]
            with served_meanwhile(queue):
                for newcomer in newcomers:
                    assert newcomer.json("ListQueues", {}).status == 200
            for each in idle[-1::-1_000]:
                each.sendall(json_request("ListQueues", {}))
                assert each.recv(12) == b"HTTP/1.1 200"
            assert resident_bytes(node.pid) - before < IDLE_CONNECTIONS * IDLE_BYTES_MAX


def test_clients_that_hold_all_connections_keep_nobody_out(node: Node, queue: Queue) -> None:
    with ExitStack() as opened:
        for _ in range(CONNECTIONS_MAX + 100):
            opened.enter_context(connect(node.sqs))
        with served_meanwhile(queue), SqsWire(node.sqs) as newcomer:
            assert newcomer.json("ListQueues", {}).status == 200


def test_a_thousand_long_polls_wait_beside_others(node: Node, queue: Queue) -> None:
    asked = json_request("ReceiveMessage", {"QueueUrl": queue.url, "WaitTimeSeconds": 20})
    with ExitStack() as opened:
        wires = [opened.enter_context(SqsWire(node.sqs)) for _ in range(1_000)]
        for wire in wires:
            wire.socket.sendall(asked)
        time.sleep(0.2)
        for first in range(0, 1_000, 10):
            queue.send_all([str(each) for each in range(first, first + 10)])
        bodies = set()
        for wire in wires:
            answer = wire.read()
            assert answer is not None
            bodies.add(answer.fields["Messages"][0]["Body"])
        assert len(bodies) == 1_000


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("".join(f"X-{each}: y\r\n" for each in range(100_000)), 431),
        ("X: " + "y" * 5_000_000 + "\r\n", 431),
        ("X" * 1_000_000 + ": y\r\n", 431),
        ("X: y\r\n" * 300, 431),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 99999999999999999999\r\n", 400),
        ("Content-Length: 1000000000\r\n", 413),
        ("X: a\x00b\r\n", 400),
        (" folded: x\r\n", 400),
        ("Expect: a miracle\r\nContent-Length: 1\r\n", 417),
    ],
    ids=[
        "many", "long value", "long name", "repeated", "both lengths", "two lengths",
        "negative", "overflow", "huge body", "zero byte", "folded", "expectation",
    ],
)  # fmt: skip
def test_a_flood_of_headers_is_refused(node: Node, queue: Queue, head: str, status: int) -> None:
    before = resident_bytes(node.pid)
    with SqsWire(node.sqs) as wire, served_meanwhile(queue):
        with suppress(ConnectionError):
            wire.socket.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode("latin-1"))
        answer = wire.read()
        assert answer is None or answer.status == status
    assert resident_bytes(node.pid) - before < 30 * MIB


def test_clients_that_never_finish_are_closed_and_others_do_not_notice(
    node: Node, queue: Queue
) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"
    before = resident_bytes(node.pid)
    with ExitStack() as opened:
        wires = [opened.enter_context(SqsWire(node.sqs)) for _ in range(500)]
        started = time.monotonic()
        for wire in wires:
            wire.socket.sendall(head)
        for wire in wires[::2]:
            wire.socket.sendall(b"Content-Length: 1000000\r\n\r\n")
        while time.monotonic() - started < FRAME_SECONDS_MAX:
            for wire in wires:
                with suppress(ConnectionError):
                    wire.socket.send(b"x")
            with served_meanwhile(queue):
                pass
        for wire in wires:
            answer = wire.read()
            assert answer is None or answer.status == 408
        assert time.monotonic() - started < FRAME_SECONDS_MAX + SWEEP_SECONDS
        assert resident_bytes(node.pid) - before < 30 * MIB


def test_bodies_that_are_too_long_are_refused_and_never_held(node: Node, queue: Queue) -> None:
    before = resident_bytes(node.pid)
    chunk = bytes(MIB)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"
    for lengths in (b"Content-Length: 100000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
        with SqsWire(node.sqs) as wire, served_meanwhile(queue):
            wire.socket.sendall(head + lengths)
            with suppress(ConnectionError):
                for _ in range(100):
                    if b"chunked" in lengths:
                        wire.socket.sendall(b"100000\r\n" + chunk + b"\r\n")
                    else:
                        wire.socket.sendall(chunk)
            answer = wire.read()
            assert answer is None or answer.status == 413
        assert resident_bytes(node.pid) - before < 60 * MIB


def test_bodies_that_are_half_sent_are_bounded_together(node: Node, queue: Queue) -> None:
    before = resident_bytes(node.pid)
    part = bytes(8 * MIB)
    with ExitStack() as opened, served_meanwhile(queue):
        for _ in range(30):
            half = opened.enter_context(connect(node.sqs))
            half.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n")
            with suppress(ConnectionError):
                half.sendall(part)
        assert resident_bytes(node.pid) - before < BODIES_BYTES_MAX + 32 * MIB


def test_clients_that_never_read_are_held_back(node: Node, queue: Queue) -> None:
    # What one read event brings is served in one turn: here, 20 requests for 5 MB each.
    node.turn_ms_max = 1_000
    for _ in range(5):
        queue.send("x" * 1_000_000)
    asked = {"QueueUrl": queue.url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}
    request = json_request("ReceiveMessage", asked)
    before = resident_bytes(node.pid)
    with ExitStack() as opened:
        clients = [opened.enter_context(connect(node.sqs)) for _ in range(20)]
        for client in clients:
            client.setblocking(False)
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            for client in clients:
                with suppress(OSError):
                    client.send(request * 20)
            time.sleep(0.01)
        assert resident_bytes(node.pid) - before < 250 * MIB
        with served_meanwhile(Queue.create(queue.sqs)):
            pass


def test_a_storm_of_short_connections_is_survived(node: Node, queue: Queue) -> None:
    request = json_request("ListQueues", {})
    for each in range(1_000):
        with connect(node.sqs) as client:
            if each % 3:
                client.sendall(request[: len(request) * (each % 3) // 2])
    with served_meanwhile(queue):
        pass


def test_what_is_no_http_is_refused(node: Node) -> None:
    for data in (
        b"\x00" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n" * 100_000,
        http_request(b"", method="CONNECT", path="elsewhere:443"),
    ):
        with SqsWire(node.sqs, seconds_max=3) as wire:
            with suppress(ConnectionError):
                wire.socket.sendall(data)
                wire.socket.shutdown(socket.SHUT_WR)
            with suppress(TimeoutError):
                answer = wire.read()
                assert answer is None or 400 <= answer.status <= 505, data[:20]
