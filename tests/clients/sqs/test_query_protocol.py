"""The Query protocol as older SDKs and people with curl send it: forms, and XML back."""

import urllib.request
from typing import Any
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

import pytest
from tests.harness.node import Node
from tests.harness.sqs import ACCOUNT, Queue, client
from tests.harness.sqs_wire import FORM_TYPE, Answer, SqsWire, http_request

ASK_SECONDS_MAX = 15.0
NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"


@pytest.fixture
def queue(modern_sqs: Any) -> Queue:
    return Queue.create(modern_sqs)


def texts(answer: Answer, name: str) -> list[str | None]:
    """The texts of all elements of that name."""
    assert answer.headers["content-type"].startswith("text/xml")
    root = ElementTree.fromstring(answer.body)
    return [each.text for each in root.iter(f"{NAMESPACE}{name}")]


def ask(node: Node, path: str, form: dict[str, str], method: str = "POST") -> Answer:
    fields = urlencode({"Version": "2012-11-05", **form})
    with SqsWire(node.sqs) as wire:
        if method == "GET":
            return wire.ask(http_request(b"", method="GET", path=f"{path}?{fields}"))
        return wire.ask(http_request(fields.encode(), path=path, Content_Type=FORM_TYPE))


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_to_the_queue_s_own_address_needs_not_name_it(
    node: Node, queue: Queue, method: str
) -> None:
    path = urlsplit(queue.url).path
    sent = ask(node, path, {"Action": "SendMessage", "MessageBody": "a <b> & c"}, method)
    assert sent.status == 200
    assert ElementTree.fromstring(sent.body).tag == f"{NAMESPACE}SendMessageResponse"
    (message_id,) = texts(sent, "MessageId")
    received = ask(node, path, {"Action": "ReceiveMessage", "AttributeName.1": "All"}, method)
    assert texts(received, "Body") == ["a <b> & c"]
    assert texts(received, "MessageId") == [message_id]
    assert "ApproximateReceiveCount" in texts(received, "Name")
    (receipt,) = texts(received, "ReceiptHandle")
    assert receipt is not None
    deleted = ask(node, path, {"Action": "DeleteMessage", "ReceiptHandle": receipt}, method)
    assert texts(deleted, "RequestId") == [deleted.headers["x-amzn-requestid"]]
    assert queue.counts() == (0, 0, 0)


def test_lists_and_maps_are_numbered(node: Node, queue: Queue) -> None:
    form = {
        "Action": "SendMessageBatch",
        "QueueUrl": queue.url,
        "SendMessageBatchRequestEntry.1.Id": "one",
        "SendMessageBatchRequestEntry.1.MessageBody": "first",
        "SendMessageBatchRequestEntry.1.MessageAttribute.1.Name": "n",
        "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.DataType": "Number",
        "SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue": "1",
        "SendMessageBatchRequestEntry.2.Id": "two",
        "SendMessageBatchRequestEntry.2.MessageBody": "",
    }
    answer = ask(node, "/", form)
    assert texts(answer, "Id") == ["one", "two"]
    assert texts(answer, "Code") == ["MissingParameter"]
    assert texts(answer, "SenderFault") == ["true"]
    (message,) = queue.receive()
    assert message["MessageAttributes"]["n"] == {"DataType": "Number", "StringValue": "1"}


def test_an_error_is_xml_too(node: Node) -> None:
    form = {"Action": "SendMessage", "MessageBody": "x"}
    answer = ask(node, f"/{ACCOUNT}/missing", form)
    assert answer.status == 400
    assert texts(answer, "Code") == ["AWS.SimpleQueueService.NonExistentQueue"]
    assert texts(answer, "Type") == ["Sender"]
    assert texts(answer, "Message") == ["The specified queue does not exist."]


def test_a_link_that_was_signed_beforehand_works(node: Node, queue: Queue) -> None:
    older = client(node.sqs, "query")
    link = older.generate_presigned_url(
        "send_message", Params={"QueueUrl": queue.url, "MessageBody": "by link"}, HttpMethod="GET"
    )
    with urllib.request.urlopen(link, timeout=ASK_SECONDS_MAX) as answer:
        assert answer.status == 200
    assert queue.bodies() == ["by link"]
