from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.queue_errors import MissingParameter, QueueRefusal, SerializationException
from duolog.wire.sqs import json_protocol
from duolog.wire.sqs.apis import ACTIONS, Action
from duolog.wire.sqs.messages import (
    ListQueuesRequest,
    Message,
    MessageAttributeValue,
    ReceiveMessageResult,
    SendMessageBatchResult,
    SendMessageRequest,
)

SEND = ACTIONS["SendMessage"]
SEND_BATCH = ACTIONS["SendMessageBatch"]
GIVEN = b'"QueueUrl":"http://q","MessageBody":"b"'


@pytest.mark.parametrize(
    ("action", "body", "parameter"),
    [
        (ACTIONS["CreateQueue"], b"{}", "QueueName"),
        (ACTIONS["CreateQueue"], b"", "QueueName"),
        (ACTIONS["CreateQueue"], b'{"QueueName":null}', "QueueName"),
        (ACTIONS["AddPermission"], b'{"QueueUrl":"q","Label":"l"}', "AWSAccountIds"),
        (
            ACTIONS["ChangeMessageVisibility"],
            b'{"QueueUrl":"q","ReceiptHandle":"r"}',
            "VisibilityTimeout",
        ),
        (SEND_BATCH, b'{"QueueUrl":"q"}', "Entries"),
        (SEND_BATCH, b'{"QueueUrl":"q","Entries":null}', "Entries"),
        (SEND_BATCH, b'{"QueueUrl":"q","Entries":[null]}', "Entries.1"),
        (
            SEND_BATCH,
            b'{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"b"},{"Id":"b"}]}',
            "Entries.2.MessageBody",
        ),
    ],
)
def test_a_missing_parameter_is_named(action: Action, body: bytes, parameter: str) -> None:
    with pytest.raises(MissingParameter) as refusal:
        json_protocol.decode(action, body)
    assert str(refusal.value) == f"The request must contain the parameter {parameter}."


def test_a_data_type_that_is_missing_is_a_missing_parameter() -> None:
    with pytest.raises(MissingParameter, match="DataType"):
        json_protocol.decode(SEND, b"{%b," % GIVEN + b'"MessageAttributes":{"a":{}}}')


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"{",
        b'{"QueueUrl":1}',
        b'{"QueueUrl":["http://q"]}',
        b'{"QueueUrl":"\xff"}',
        b'{"QueueUrl":"\\ud800"}',
        b"{%b} {}" % GIVEN,
        b"{%b," % GIVEN + b'"DelaySeconds":"5"}',
        b"{%b," % GIVEN + b'"DelaySeconds":1.5}',
        b"{%b," % GIVEN + b'"DelaySeconds":true}',
        b"{%b," % GIVEN + b'"DelaySeconds":2147483648}',
        b"{%b," % GIVEN + b'"DelaySeconds":' + b"9" * 5_000 + b"}",
        b"{%b," % GIVEN + b'"MessageAttributes":[]}',
        b"{%b," % GIVEN + b'"MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"%"}}}',
    ],
)
def test_what_is_not_as_the_model_says_is_not_understood(body: bytes) -> None:
    with pytest.raises(SerializationException):
        json_protocol.decode(SEND, body)


@pytest.mark.parametrize("opening", [b"[", b'{"x":'])
def test_a_deeply_nested_request_is_refused(opening: bytes) -> None:
    for bomb in (opening * 1_000_000, b'{"Unknown":' + opening * 1_000_000):
        with pytest.raises(SerializationException):
            json_protocol.decode(SEND, bomb)


def test_members_that_are_unknown_or_null_are_passed_over() -> None:
    body = b"{%b," % GIVEN + b'"DelaySeconds":null,"Later":{"a":[1,{}]}}'
    assert json_protocol.decode(SEND, body) == SendMessageRequest("http://q", "b")


def test_no_body_is_an_empty_request() -> None:
    assert json_protocol.decode(ACTIONS["ListQueues"], b"") == ListQueuesRequest()


def test_what_is_not_there_is_left_out_of_an_answer() -> None:
    assert json_protocol.encode(None) == b""
    assert json_protocol.encode(ReceiveMessageResult()) == b"{}"
    assert json_protocol.encode(SendMessageBatchResult()) == b"{}"
    assert (
        json_protocol.encode(
            ReceiveMessageResult(
                [
                    Message(
                        body="ü",
                        message_attributes={
                            "a": MessageAttributeValue("Binary", binary_value=b"\xff")
                        },
                    )
                ]
            )
        ).decode()
        == '{"Messages":[{"Body":"ü","MessageAttributes":'
        '{"a":{"DataType":"Binary","BinaryValue":"/w=="}}}]}'
    )


@given(st.sampled_from(sorted(ACTIONS)), st.binary(max_size=200))
def test_arbitrary_bytes_are_understood_or_refused(name: str, body: bytes) -> None:
    with suppress(QueueRefusal):
        json_protocol.decode(ACTIONS[name], body)
