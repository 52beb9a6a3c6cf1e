"""Valid requests of every API at every version, then the same with some bytes changed."""

import os
import random
import socket
from collections import deque

import pytest
from tests.harness.node import Node
from tests.harness.requests import REQUESTS
from tests.harness.wire import SIZE, Wire, connect, request_frame

from duolog.wire.kafka.apis import APIS, ApiKey

MUTATIONS_PER_VERSION = int(os.environ.get("DUOLOG_MUTATIONS", "60"))
OPEN_SOCKETS = 40
"""Kept open for a while, so that what a mutated request started is still under way."""

VERSIONS = [
    (api.key, version)
    for api in APIS.values()
    for version in range(api.min_version, api.max_version + 1)
]


def test_every_served_api_has_a_request_here() -> None:
    assert REQUESTS.keys() == APIS.keys()


@pytest.mark.parametrize("api_key", APIS, ids=lambda key: ApiKey(key).name.lower())
def test_a_valid_request_is_answered_at_every_version(node: Node, api_key: ApiKey) -> None:
    api = APIS[api_key]
    for version in range(api.min_version, api.max_version + 1):
        fields = dict(REQUESTS[api_key])
        if api_key == ApiKey.JOIN_GROUP:
            # In one group, each member would wait for those before it to time out.
            fields["group_id"] += str(version)
        with Wire(node.kafka) as wire:
            wire.call(api_key, version, fields)


def mutated(frame: bytes, chance: random.Random) -> bytes:
    """The frame with some bytes changed, removed, repeated or made up; its size mostly fits."""
    body = bytearray(frame[SIZE.size :])
    # The API key and the version stay: other tests change them.
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        if len(body) <= 5:
            break
        at = chance.randrange(4, len(body))
        match chance.randrange(6):
            case 0:
                body[at] ^= 1 << chance.randrange(8)
            case 1:
                body[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del body[at : at + chance.randrange(1, 9)]
            case 3:
                body[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 4:
                body[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
            case 5:
                body[at:at] = body[4 : chance.randrange(5, len(body))]
    size = len(body) if chance.random() < 0.95 else chance.randrange(1 << 16)
    return SIZE.pack(size) + bytes(body)


def test_mutated_requests_are_survived(node: Node) -> None:
    chance = random.Random(3)
    open_sockets: deque[socket.socket] = deque()
    for api_key, version in VERSIONS:
        frame = request_frame(api_key, version, REQUESTS[api_key])
        for _ in range(MUTATIONS_PER_VERSION):
            client = connect(node.kafka)
            open_sockets.append(client)
            client.sendall(mutated(frame, chance))
            if len(open_sockets) > OPEN_SOCKETS:
                open_sockets.popleft().close()
        assert node.running, f"the node ended after {api_key.name} version {version}"
        node.check_log()
    while open_sockets:
        open_sockets.popleft().close()
