"""Requests that ask for nothing there is, or say it wrongly, in both protocols."""

from typing import Any

import pytest
from botocore.serialize import create_serializer
from tests.clients.sqs.provocations import minimal
from tests.harness.node import Node
from tests.harness.sqs import Queue
from tests.harness.sqs_wire import JSON_TYPE, SqsWire, http_request, json_request
from tests.unit.wire.sqs.public_model import JSON_MODEL, OPERATIONS, QUERY_MODEL

pytestmark = pytest.mark.usefixtures("queues_stay_well")

WRONG: dict[str, list[Any]] = {
    "string": [1, 1.5, True, [], {}],
    "integer": ["1", "x", 1.5, True, [], {}, 1 << 31, -(1 << 40), 10**400],
    "list": ["x", 1, {}, [[]], [1]],
    "map": ["x", 1, [], {"a": 1}, {"a": []}],
}
"""By the kind of a parameter, values that it cannot have."""


@pytest.fixture
def wire(node: Node) -> Any:
    with SqsWire(node.sqs) as wire:
        yield wire


def serialized(action: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The form that an SDK of the Query protocol makes of a request."""
    serializer = create_serializer("query", include_validation=False)
    return dict(serializer.serialize_to_request(asked, QUERY_MODEL.operation_model(action))["body"])


def test_an_unknown_action_is_refused(wire: SqsWire) -> None:
    answer = wire.json("MakeCoffee", {})
    assert (answer.status, answer.code) == (400, "UnknownOperationException")
    answer = wire.query("MakeCoffee", {})
    assert (answer.status, answer.code) == (400, "InvalidAction")
    answer = wire.ask(http_request(b"{}", X_Amz_Target="DynamoDB.ListTables"))
    assert answer.status == 400
    assert wire.ask(http_request(b"{}", Content_Type=JSON_TYPE)).status == 400
    assert wire.ask(http_request(b"")).code == "MissingAction"


REQUIRED = [
    (action, name)
    for action in OPERATIONS
    for name in JSON_MODEL.operation_model(action).input_shape.required_members
]


def test_a_missing_parameter_is_named(wire: SqsWire, queue: Queue) -> None:
    for action, missing in REQUIRED:
        asked = minimal(action, queue.url)
        del asked[missing]
        for body in (asked, {**asked, missing: None}):
            answer = wire.json(action, body)
            assert (answer.status, answer.code) == (400, "MissingRequiredParameterException")
            assert missing in answer.fields["message"]
        answer = wire.query(action, serialized(action, asked))
        # Nothing tells a batch that is missing from one that is empty.
        batch = "AWS.SimpleQueueService.EmptyBatchRequest"
        assert answer.status == 400
        assert answer.code == (batch if missing == "Entries" else "MissingParameter"), action


def test_a_parameter_of_the_wrong_type_is_refused(wire: SqsWire, queue: Queue) -> None:
    for action in OPERATIONS:
        shape = JSON_MODEL.operation_model(action).input_shape
        for name, member in shape.members.items():
            for value in WRONG[member.type_name]:
                answer = wire.json(action, {**minimal(action, queue.url), name: value})
                found = (answer.status, answer.code)
                assert found == (400, "SerializationException"), (action, name, value)


def test_numbers_that_are_none_are_refused_in_a_form(wire: SqsWire, queue: Queue) -> None:
    for text in ("x", "", "1.5", "1e3", " 1", "0x1", "٣", "9" * 5_000, "2147483648"):
        form = {"QueueUrl": queue.url, "MaxNumberOfMessages": text}
        answer = wire.query("ReceiveMessage", form)
        assert (answer.status, answer.code) == (400, "InvalidParameterValue"), text


def test_unknown_parameters_are_passed_over(wire: SqsWire, queue: Queue) -> None:
    asked = {"QueueUrl": queue.url, "MessageBody": "x"}
    assert wire.json("SendMessage", {**asked, "Colour": {"deep": [1, {"a": None}]}}).status == 200
    assert wire.query("SendMessage", {**asked, "Colour.1.Name": "red", "": "x"}).status == 200
    assert queue.counts() == (2, 0, 0)


def test_what_is_no_json_object_is_refused(wire: SqsWire) -> None:
    for body in (
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"1",
        b'{"QueueUrl": "x"}}',
        b"{'QueueUrl': 'x'}",
        b'{"QueueUrl": NaN}',
        b'{"QueueUrl": "\xff"}',
        b'\xef\xbb\xbf{"QueueUrl": "x"}',
        b'{"QueueUrl": "\\ud800"}',
        b'{"QueueUrl": "x',
        b"\x00",
        b"<xml/>",
    ):
        answer = wire.json("ReceiveMessage", body)
        assert (answer.status, answer.code) == (400, "SerializationException"), body


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"QueueUrl":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
        b'{"Junk":' + b"[" * 500_000 + b"]" * 500_000 + b"}",
        b'{"Junk":' + b"9" * 2_000_000 + b"}",
        b'{"MaxNumberOfMessages":1e' + b"9" * 1_000_000 + b"}",
        b'{"Junk":[' + b"{}," * 1_000_000 + b"{}]}",
        b"{" + b'"a":1,' * 500_000 + b'"a":1}',
        b'{"Junk":"' + b"\\u0041" * 500_000 + b'"}',
    ],
    ids=["arrays", "objects", "url", "junk", "digits", "exponent", "many", "repeated", "escapes"],
)
def test_a_bomb_in_json_is_refused_at_once(wire: SqsWire, body: bytes) -> None:
    answer = wire.json("ReceiveMessage", body)
    assert answer.status == 400


def test_a_bomb_in_a_form_is_refused_at_once(wire: SqsWire, queue: Queue) -> None:
    for form in (
        "&".join(f"A.{each}=1" for each in range(100_000)).encode(),
        ("A." * 500_000 + "1=1").encode(),
        b"%41" * 300_000 + b"=1",
        b"&" * 1_000_000,
    ):
        answer = wire.query("ReceiveMessage", form)
        assert answer.status == 400, form[:20]
    huge = f"QueueUrl={queue.url}&AttributeName.999999999=All&AttributeName.9999999999=All"
    assert wire.query("ReceiveMessage", huge.encode()).status == 200


def test_a_form_that_is_no_text_is_refused(wire: SqsWire, queue: Queue) -> None:
    for form in (b"MessageBody=%ff", b"MessageBody=\xff", b"%ff=x", b"MessageBody=%zz"):
        answer = wire.query("SendMessage", f"QueueUrl={queue.url}&".encode() + form)
        assert (answer.status, answer.code) == (400, "InvalidParameterValue"), form
    assert queue.counts() == (0, 0, 0)


def test_a_character_that_no_message_may_have_is_refused(wire: SqsWire, queue: Queue) -> None:
    for character in "\x00\x08\x0b\x0c\x0e\x1f\ufffe\uffff":
        asked: dict[str, Any] = {"QueueUrl": queue.url, "MessageBody": f"a{character}b"}
        assert wire.json("SendMessage", asked).code == "InvalidMessageContents"
        assert wire.query("SendMessage", asked).code == "InvalidMessageContents"
        attribute = {"a": {"DataType": "String", "StringValue": character}}
        asked = {"QueueUrl": queue.url, "MessageBody": "x", "MessageAttributes": attribute}
        assert wire.json("SendMessage", asked).code == "InvalidMessageContents"
    assert queue.counts() == (0, 0, 0)


def test_lone_surrogates_are_refused(wire: SqsWire, queue: Queue) -> None:
    for escape in (b"\\ud800", b"\\udfff", b"\\ud800x", b"\\udc00\\ud800"):
        body = b'{"QueueUrl": "%b", "MessageBody": "%b"}' % (queue.url.encode(), escape)
        assert wire.json("SendMessage", body).status == 400
    for encoded in (b"%ED%A0%80", b"%C0%80", b"%F4%90%80%80"):
        form = f"QueueUrl={queue.url}&MessageBody=".encode() + encoded
        assert wire.query("SendMessage", form).status == 400
    assert queue.counts() == (0, 0, 0)


def test_an_address_that_is_no_queue_s_is_refused(wire: SqsWire) -> None:
    for url in (
        "",
        "missing",
        "http://elsewhere/123456789012/missing",
        "http://localhost/000000000000/../000000000000/well",
        "http://localhost/000000000000/well%00",
        "http://localhost/000000000000/well\n",
        "http://localhost/000000000000/__queue.well",
        "../../etc/passwd",
        "http://localhost/" * 1_000,
        "\x00",
        "ü" * 100_000,
    ):
        answer = wire.json("ReceiveMessage", {"QueueUrl": url})
        assert (answer.status, answer.code) == (400, "QueueDoesNotExist"), url
        answer = wire.query("ReceiveMessage", {"QueueUrl": url})
        assert answer.code == "AWS.SimpleQueueService.NonExistentQueue", url


def test_other_methods_do_no_harm(node: Node) -> None:
    for method in ("GET", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        with SqsWire(node.sqs) as wire:
            answer = wire.ask(http_request(b"", method=method, path="/?Action=Nothing"))
            assert 400 <= answer.status < 500, method


def test_many_requests_are_answered_in_their_order(wire: SqsWire, queue: Queue) -> None:
    asked = [
        json_request("SendMessage", {"QueueUrl": queue.url, "MessageBody": str(each)})
        if each % 2
        else json_request("GetQueueUrl", {"QueueName": f"missing-{each}"})
        for each in range(500)
    ]
    wire.socket.sendall(b"".join(asked))
    for each in range(500):
        answer = wire.read()
        assert answer is not None
        assert answer.status == (200 if each % 2 else 400)
    assert queue.counts() == (250, 0, 0)
