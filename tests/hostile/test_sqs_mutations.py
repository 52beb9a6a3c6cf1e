"""Valid requests of every action in both protocols, then the same with some bytes changed."""

import json
import os
import random
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.serialize import create_serializer
from tests.clients.sqs.provocations import minimal
from tests.harness.node import Node
from tests.harness.sqs import Queue
from tests.harness.sqs_wire import SqsWire, http_request, json_request, query_request
from tests.unit.wire.sqs.public_model import OPERATIONS, QUERY_MODEL

pytestmark = pytest.mark.usefixtures("queues_stay_well")

MUTATIONS_PER_ACTION = int(os.environ.get("DUOLOG_MUTATIONS", "60"))

DRASTIC = ("DeleteQueue", "CreateQueue")
"""Mutations of these would take the queue away, or leave hundreds of others behind."""

JUNK = (b"\x00", b"\xff", b"%", b"&", b"=", b'"', b"\\", b"{", b"[", b"9" * 30, b"null", b"-1")


def mutated(data: bytes, chance: random.Random) -> bytes:
    body = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        at = chance.randrange(len(body) + 1)
        match chance.randrange(4):
            case 0 if at < len(body):
                body[at] ^= 1 << chance.randrange(8)
            case 1:
                del body[at : at + chance.randrange(1, 9)]
            case 2:
                body[at:at] = chance.choice(JUNK)
            case _:
                body[at:at] = body[: chance.randrange(1, 30)]
    return bytes(body)


def form_of(action: str, asked: dict[str, Any]) -> bytes:
    serializer = create_serializer("query", include_validation=False)
    request = serializer.serialize_to_request(asked, QUERY_MODEL.operation_model(action))
    fields = {name: value for name, value in request["body"].items() if name != "Action"}
    return urlencode(fields).encode()


@pytest.mark.parametrize("protocol", ["json", "query"])
def test_a_mutated_request_is_refused_or_served_and_nothing_else(
    node: Node, queue: Queue, protocol: str
) -> None:
    chance = random.Random(protocol)
    queue.send("x")
    receipt = queue.receive_one()["ReceiptHandle"]
    with SqsWire(node.sqs) as wire:
        for action in OPERATIONS:
            if action in DRASTIC:
                continue
            asked = minimal(action, queue.url)
            if "ReceiptHandle" in asked:
                asked["ReceiptHandle"] = receipt
            if action == "ReceiveMessage":
                asked |= {"MaxNumberOfMessages": 2, "AttributeNames": ["All"]}
            valid = json.dumps(asked).encode() if protocol == "json" else form_of(action, asked)
            build = json_request if protocol == "json" else query_request
            for _ in range(MUTATIONS_PER_ACTION):
                body = mutated(valid, chance)
                answer = wire.ask(build(action, body))
                assert 200 <= answer.status < 500, (action, body, answer)


def test_a_mutated_head_ends_one_connection_at_most(node: Node, queue: Queue) -> None:
    chance = random.Random(1)
    valid = http_request(b"{}", X_Amz_Target="AmazonSQS.ListQueues")
    for _ in range(MUTATIONS_PER_ACTION * 5):
        with SqsWire(node.sqs) as wire:
            wire.socket.sendall(mutated(valid, chance))
            wire.socket.settimeout(0.05)
            try:
                answer = wire.read()
            except TimeoutError:
                continue
            assert answer is None or answer.status < 506, answer
