"""Hostile SQS requests: both decoders, the form parser, and what a signature claims.

A decoder may only return or raise a refusal, and what it returned can be answered with. What
JSON and a form say alike has to be understood alike.
"""

import sys
from contextlib import suppress
from urllib.parse import quote

import atheris

with atheris.instrument_imports(include=["duolog"]):
    from duolog.model.characters import forbidden_character
    from duolog.model.queue_errors import AccessDenied, QueueRefusal
    from duolog.wire.sqs import json_protocol, query_protocol
    from duolog.wire.sqs.apis import ACTIONS
    from duolog.wire.sqs.messages import Message, ReceiveMessageResult, SendMessageRequest
    from duolog.wire.sqs.sigv4 import verify

NAMES = sorted(ACTIONS)
BYTES_MAX = 8_192
NOW_MS = 1_700_000_000_000
CREDENTIAL = b"AWS4-HMAC-SHA256 Credential=k/20231114/r/sqs/aws4_request, SignedHeaders=host"
PRESIGNED = (
    "X-Amz-Credential=k/20231114/r/sqs/aws4_request&X-Amz-Date=20231114T221320Z&X-Amz-Expires=60"
    "&X-Amz-SignedHeaders=host&X-Amz-Signature="
)

# Names that parameters are made of, so that forms are met that make sense as far as they go.
PARTS = [
    "1",
    "2",
    "01",
    "QueueUrl",
    "QueueName",
    "MessageBody",
    "Attribute",
    "AttributeName",
    "Name",
    "Value",
    "Key",
    "Tag",
    "TagKey",
    "Id",
    "Entries",
    "SendMessageBatchRequestEntry",
    "MessageAttribute",
    "DataType",
    "StringValue",
    "BinaryValue",
    "StringListValue",
    "BinaryListValue",
    "DelaySeconds",
    "VisibilityTimeout",
    "AWSAccountId",
    "ActionName",
    "Label",
]
SAMPLE = (
    b'{"QueueUrl":"u","QueueName":"n","MessageBody":"b","Attributes":{"a":"b"},"DelaySeconds":1,'
    b'"MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"/w=="}},"Entries":[{"Id":"i",'
    b'"MessageBody":"b","ReceiptHandle":"r"}],"Tags":null,"AttributeNames":["All"],"Unknown":[{}]}'
)


def fuzz(data: bytes) -> None:
    choices = atheris.FuzzedDataProvider(data)
    match choices.ConsumeIntInRange(0, 3):
        case 0:
            fuzz_json(choices)
        case 1:
            fuzz_query(choices)
        case 2:
            fuzz_body(choices)
        case _:
            fuzz_signature(choices)


def fuzz_json(choices: atheris.FuzzedDataProvider) -> None:
    action = ACTIONS[choices.PickValueInList(NAMES)]
    body = bytearray(SAMPLE)
    if choices.ConsumeBool():
        body = bytearray(choices.ConsumeBytes(BYTES_MAX))
    for _ in range(choices.ConsumeIntInRange(0, 6) if body else 0):
        body[choices.ConsumeIntInRange(0, len(body) - 1)] = choices.ConsumeIntInRange(0, 255)
    with suppress(QueueRefusal):
        request = json_protocol.decode(action, bytes(body))
        assert json_protocol.decode(action, json_protocol.encode(request)) == request


def fuzz_query(choices: atheris.FuzzedDataProvider) -> None:
    action = ACTIONS[choices.PickValueInList(NAMES)]
    fields = [choices.ConsumeBytes(choices.ConsumeIntInRange(0, 256))]
    for _ in range(choices.ConsumeIntInRange(0, 12)):
        depth = choices.ConsumeIntInRange(1, 9)
        name = ".".join(choices.PickValueInList(PARTS) for _ in range(depth))
        fields.append(name.encode() + b"=" + choices.ConsumeBytes(8))
    with suppress(QueueRefusal):
        form = query_protocol.parse_form(b"&".join(fields))
        request = query_protocol.decode(action, form)
        # Both protocols decode into the same structs, so JSON holds whatever a form held.
        assert json_protocol.decode(action, json_protocol.encode(request)) == request


def fuzz_body(choices: atheris.FuzzedDataProvider) -> None:
    """A body goes in by either protocol and comes out by either."""
    body = choices.ConsumeUnicodeNoSurrogates(BYTES_MAX)
    form = query_protocol.parse_form(f"QueueUrl=u&MessageBody={quote(body)}".encode())
    request = query_protocol.decode(ACTIONS["SendMessage"], form)
    assert request == SendMessageRequest("u", body)
    assert json_protocol.decode(ACTIONS["SendMessage"], json_protocol.encode(request)) == request
    forbidden_character(body.encode())
    result = ReceiveMessageResult([Message(body=body)])
    query_protocol.encode(ACTIONS["ReceiveMessage"], result, b"an-id").decode()


def fuzz_signature(choices: atheris.FuzzedDataProvider) -> None:
    given = choices.ConsumeBytes(512).decode("latin-1")
    query = choices.PickValueInList([given, PRESIGNED + given])
    headers = {
        b"host": choices.ConsumeBytes(32),
        b"x-amz-date": choices.PickValueInList([b"20231114T221320Z", choices.ConsumeBytes(32)]),
    }
    if choices.ConsumeBool():
        claim = choices.ConsumeBytes(512)
        headers[b"authorization"] = choices.PickValueInList(
            [claim, CREDENTIAL + claim, CREDENTIAL + b", Signature=" + claim]
        )
    try:
        verify(
            "GET",
            "/" + choices.ConsumeBytes(64).decode("latin-1"),
            query,
            headers,
            b"",
            secret_of={"k": "secret"}.get,
            region="r",
            now_ms=NOW_MS,
        )
    except AccessDenied:
        return
    raise AssertionError("nobody signed this")


if __name__ == "__main__":
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
