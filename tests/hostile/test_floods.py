"""More connections than anybody needs."""

import socket
import time
from contextlib import ExitStack

from tests.harness.node import Node
from tests.harness.process import descriptor_count, resident_bytes
from tests.harness.wire import Wire, connect, request_frame

from duolog.wire.kafka.apis import ApiKey

MIB = 1 << 20
CONNECTIONS_MAX = 1_100
SERVED_SECONDS_MAX = 5.0
ANSWER_SECONDS_MAX = 10.0
LEFT_SECONDS_MAX = 30.0


def test_a_thousand_idle_connections_cost_little(node: Node) -> None:
    before = resident_bytes(node.pid)
    with ExitStack() as open_sockets:
        clients = [open_sockets.enter_context(connect(node.kafka)) for _ in range(1_000)]
        with Wire(node.kafka) as wire:
            started = time.monotonic()
            assert wire.produce_values("plain", [b"served"]) >= 0
            assert time.monotonic() - started < SERVED_SECONDS_MAX
        for client in clients[::100]:
            client.sendall(request_frame(ApiKey.API_VERSIONS, 0, {}))
            assert client.recv(4)
        assert resident_bytes(node.pid) - before < 100 * MIB


def is_refused(client: socket.socket) -> bool:
    client.settimeout(ANSWER_SECONDS_MAX)
    try:
        client.sendall(request_frame(ApiKey.API_VERSIONS, 0, {}))
        return client.recv(4) == b""
    except OSError:
        return True


def test_connections_beyond_the_limit_are_refused_and_the_rest_are_served(node: Node) -> None:
    with ExitStack() as open_sockets:
        first = open_sockets.enter_context(Wire(node.kafka))
        clients = [
            open_sockets.enter_context(connect(node.kafka)) for _ in range(CONNECTIONS_MAX + 100)
        ]
        assert is_refused(clients[-1])
        assert not is_refused(clients[0])
        assert first.produce_values("plain", [b"served"]) >= 0
    deadline = time.monotonic() + LEFT_SECONDS_MAX
    while descriptor_count(node.pid, beside=node.data) > CONNECTIONS_MAX // 2:
        assert time.monotonic() < deadline, "connections that were closed are still held"
        time.sleep(0.02)
    with Wire(node.kafka) as wire:
        assert wire.produce_values("plain", [b"served again"]) >= 0


def test_a_storm_of_short_connections_is_survived(node: Node) -> None:
    frame = request_frame(ApiKey.API_VERSIONS, 0, {})
    for each in range(1_000):
        with connect(node.kafka) as client:
            if each % 2:
                client.sendall(frame)
