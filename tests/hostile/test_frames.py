"""Frames that lie about their size, their API or their version."""

import os
import random
import socket
import time

import pytest
from tests.harness.node import Node
from tests.harness.process import resident_bytes
from tests.harness.wire import SIZE, Wire, request_frame

from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import encode_header
from duolog.wire.kafka.messages import decode_response

MIB = 1 << 20
REQUEST_BYTES_MAX = 100 * MIB
UNSUPPORTED_VERSION = 35
CLOSED_SECONDS_MAX = 10.0


def is_closed(wire: Wire) -> bool:
    """Whether the node closes the connection without an answer."""
    wire.socket.settimeout(CLOSED_SECONDS_MAX)
    try:
        return wire.read_frame() is None
    except TimeoutError:
        return False


@pytest.mark.parametrize(
    "size", [REQUEST_BYTES_MAX + 1, 0x7FFF_FFFF, 0, 1, 7, -1, -0x8000_0000], ids=str
)
def test_an_impossible_size_closes_the_connection(node: Node, size: int) -> None:
    before = resident_bytes(node.pid)
    with Wire(node.kafka) as wire:
        wire.socket.sendall(SIZE.pack(size) + bytes(100))
        assert is_closed(wire)
    assert resident_bytes(node.pid) - before < 20 * MIB


@pytest.mark.parametrize("cut", [1, 3, 4, 8, 20])
def test_a_truncated_frame_is_dropped_with_its_connection(node: Node, cut: int) -> None:
    frame = request_frame(ApiKey.METADATA, 9, {"topics": None})
    for _ in range(20):
        with Wire(node.kafka) as wire:
            wire.socket.sendall(frame[:cut])


def test_a_frame_that_arrives_byte_by_byte_is_answered(node: Node) -> None:
    frame = request_frame(ApiKey.API_VERSIONS, 0, {})
    with Wire(node.kafka) as wire:
        for byte in frame:
            wire.socket.sendall(bytes([byte]))
        assert wire.read_frame() is not None


def test_frames_in_one_segment_are_answered_in_order(node: Node) -> None:
    frames = [request_frame(ApiKey.METADATA, 9, {"topics": []}, each) for each in range(300)]
    with Wire(node.kafka) as wire:
        wire.socket.sendall(b"".join(frames))
        for each in range(300):
            answer = wire.read_frame()
            assert answer is not None
            assert SIZE.unpack_from(answer)[0] == each


@pytest.mark.parametrize("api_key", [-1, 4, 5, 6, 7, 17, 24, 68, 1_000, 0x7FFF])
def test_an_unknown_api_closes_the_connection(node: Node, api_key: int) -> None:
    header = encode_header(api_key, 0, 1, "test") + bytes(20)
    with Wire(node.kafka) as wire:
        wire.socket.sendall(SIZE.pack(len(header)) + header)
        assert is_closed(wire)


@pytest.mark.parametrize("version", [-1, 99, 0x7FFF])
@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA])
def test_an_unknown_version_closes_the_connection(
    node: Node, api_key: ApiKey, version: int
) -> None:
    header = encode_header(api_key, version, 1, "test") + bytes(20)
    with Wire(node.kafka) as wire:
        wire.socket.sendall(SIZE.pack(len(header)) + header)
        assert is_closed(wire)


@pytest.mark.parametrize("version", [5, 99, 0x7FFF])
def test_api_versions_at_an_unknown_version_is_answered_in_version_0(
    node: Node, version: int
) -> None:
    message = encode_header(ApiKey.API_VERSIONS, version, 77, "test") + b"\x05name\x021\x00"
    with Wire(node.kafka) as wire:
        wire.socket.sendall(SIZE.pack(len(message)) + message)
        answer = wire.read_frame()
        assert answer is not None
        assert SIZE.unpack_from(answer)[0] == 77
        response = decode_response(ApiKey.API_VERSIONS, 0, memoryview(answer)[4:])
        assert int(response.error_code) == UNSUPPORTED_VERSION
        (own,) = (each for each in response.api_keys if each.api_key == ApiKey.API_VERSIONS)
        assert own.max_version == 4
        # The client chooses again on the same connection.
        assert wire.call(ApiKey.API_VERSIONS, 3, {"client_software_name": "x"}).api_keys


def test_noise_is_survived(node: Node) -> None:
    chance = random.Random(1)
    for _ in range(300):
        with Wire(node.kafka) as wire:
            noise = chance.randbytes(chance.randrange(1, 400))
            if chance.random() < 0.7:
                noise = SIZE.pack(len(noise)) + noise
            try:
                wire.socket.sendall(noise)
            except OSError:
                continue


def test_other_protocols_are_not_mistaken(node: Node) -> None:
    for opening in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" * 20):
        with Wire(node.kafka) as wire:
            wire.socket.sendall(opening)
            assert is_closed(wire)


def test_arrays_that_claim_to_be_huge_are_refused(node: Node) -> None:
    before = resident_bytes(node.pid)
    for body in (b"\x7f\xff\xff\xff", b"\x00\x10\x00\x00"):
        header = encode_header(ApiKey.METADATA, 4, 1, "test") + body
        with Wire(node.kafka) as wire:
            wire.socket.sendall(SIZE.pack(len(header)) + header)
            assert is_closed(wire)
    assert resident_bytes(node.pid) - before < 20 * MIB


def test_a_half_closed_client_gets_its_answers_or_an_end(node: Node) -> None:
    with Wire(node.kafka) as wire:
        wire.socket.sendall(request_frame(ApiKey.METADATA, 9, {"topics": None}))
        wire.socket.shutdown(socket.SHUT_WR)
        wire.socket.settimeout(CLOSED_SECONDS_MAX)
        while wire.read_frame() is not None:
            pass


def test_a_client_that_resets_its_connection_is_forgotten(node: Node) -> None:
    linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
    for _ in range(50):
        with Wire(node.kafka) as wire:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            wire.socket.sendall(request_frame(ApiKey.METADATA, 9, {"topics": None}) * 5)
            if os.urandom(1)[0] & 1:
                time.sleep(0.005)
