"""Clients that promise much, send little, or never read: they cost themselves, not others."""

import time
from contextlib import ExitStack, suppress

import pytest
from tests.harness.node import Node
from tests.harness.process import resident_bytes
from tests.harness.wire import SIZE, Wire, connect, encode_header, fetch_fields, request_frame
from tests.hostile.conftest import FRAME_SECONDS_MAX

from duolog.wire.kafka.apis import ApiKey

MIB = 1 << 20
SWEEP_SECONDS = 7.0
"""How much later than allowed a slow client may be found, with some reserve."""
DRIBBLE_SECONDS = 0.5
"""Between two bytes of a request, which so takes longer than it may."""
OTHERS_SECONDS_MAX = 3.0
"""Less than a slow client is waited for."""
SERVED_SECONDS_MAX = 5.0


def test_promised_bytes_cost_nothing_until_they_arrive(node: Node) -> None:
    before = resident_bytes(node.pid)
    with ExitStack() as open_sockets:
        for _ in range(50):
            client = open_sockets.enter_context(connect(node.kafka))
            client.sendall(SIZE.pack(100 * MIB) + encode_header(ApiKey.PRODUCE, 9, 1, "liar"))
        time.sleep(0.3)
        assert resident_bytes(node.pid) - before < 30 * MIB
        with Wire(node.kafka) as wire:
            assert wire.produce_values("plain", [b"served"]) >= 0


def test_many_large_requests_at_once_stay_within_the_budget(node: Node) -> None:
    before = resident_bytes(node.pid)
    with ExitStack() as open_sockets:
        clients = [open_sockets.enter_context(connect(node.kafka)) for _ in range(12)]
        for client in clients:
            client.setblocking(False)
            client.send(SIZE.pack(90 * MIB) + encode_header(ApiKey.PRODUCE, 9, 1, "large"))
        chunk = bytes(256 * 1024)
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            for client in clients:
                with suppress(OSError):
                    client.send(chunk)
            time.sleep(0.0005)
        assert resident_bytes(node.pid) - before < 200 * MIB
        with Wire(node.kafka) as wire:
            assert wire.produce_values("plain", [b"served"]) >= 0


def test_a_client_that_dribbles_is_closed_and_others_do_not_notice(node: Node) -> None:
    frame = request_frame(ApiKey.METADATA, 9, {"topics": None})
    with connect(node.kafka) as slow, Wire(node.kafka) as other:
        started = time.monotonic()
        slow.settimeout(DRIBBLE_SECONDS)
        assert len(frame) * DRIBBLE_SECONDS > FRAME_SECONDS_MAX + SWEEP_SECONDS
        longest = 0.0
        for byte in frame:
            slow.sendall(bytes([byte]))
            asked = time.monotonic()
            assert other.produce_values("plain", [b"x"]) >= 0
            longest = max(longest, time.monotonic() - asked)
            try:
                assert slow.recv(1) == b""
                break
            except TimeoutError:
                continue
            except ConnectionResetError:
                break
        took = time.monotonic() - started
        assert FRAME_SECONDS_MAX - 0.2 < took < FRAME_SECONDS_MAX + SWEEP_SECONDS
        assert longest < OTHERS_SECONDS_MAX


@pytest.mark.parametrize("api_key", [ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.FETCH])
def test_clients_that_never_read_are_held_back(node: Node, api_key: ApiKey) -> None:
    with Wire(node.kafka) as wire:
        for _ in range(8):
            wire.produce_values("plain", [bytes(900_000)], partition=1)
    requests = {
        ApiKey.API_VERSIONS: request_frame(ApiKey.API_VERSIONS, 0, {}),
        ApiKey.METADATA: request_frame(ApiKey.METADATA, 9, {"topics": None}),
        ApiKey.FETCH: request_frame(
            ApiKey.FETCH, 12, fetch_fields("plain", 1, 0, bytes_max=8 * MIB)
        ),
    }
    before = resident_bytes(node.pid)
    with ExitStack() as open_sockets:
        clients = [open_sockets.enter_context(connect(node.kafka)) for _ in range(10)]
        for client in clients:
            client.setblocking(False)
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            for client in clients:
                with suppress(OSError):
                    client.send(requests[api_key] * 100)
            time.sleep(0.0005)
        with Wire(node.kafka) as wire:
            asked = time.monotonic()
            assert wire.produce_values("plain", [b"served"]) >= 0
            assert time.monotonic() - asked < SERVED_SECONDS_MAX
        assert resident_bytes(node.pid) - before < 100 * MIB


def test_waiting_fetches_of_gone_clients_are_forgotten(node: Node) -> None:
    with Wire(node.kafka) as wire:
        end = wire.produce_values("plain", [b"x"]) + 1
    before = resident_bytes(node.pid)
    for _ in range(200):
        with connect(node.kafka) as client:
            fields = fetch_fields("plain", 0, end + 100, wait_ms_max=600_000)
            fields["topics"][0]["partitions"][0]["fetch_offset"] = end
            client.sendall(request_frame(ApiKey.FETCH, 12, fields))
    time.sleep(0.3)
    assert resident_bytes(node.pid) - before < 20 * MIB
