"""SendMessage takes what SQS takes, to the edge of each limit and not past it."""

from hashlib import md5
from typing import Any

import pytest
from tests.unit.sqs_api.workbench import Workbench, url

BODY = "MessageBody"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def text(value: str, data_type: str = "String") -> dict[str, Any]:
    return {"DataType": data_type, "StringValue": value}


async def send(sqs: Workbench, name: str = "q", **parameters: Any) -> dict[str, Any]:
    return await sqs.call("SendMessage", QueueUrl=url(name), **{BODY: "x", **parameters})


async def refused(sqs: Workbench, name: str = "q", **parameters: Any) -> str:
    parameters = {BODY: "x", **parameters}
    refusal = await sqs.refusal("SendMessage", QueueUrl=url(name), **parameters)
    assert refusal.status == 400
    assert sqs.queues.get(name).sent == []
    return refusal.code


@pytest.fixture(autouse=True)
def queues(sqs: Workbench) -> None:
    sqs.queues.make("q")
    sqs.queues.make("f.fifo", FifoQueue="true")
    sqs.queues.make("c.fifo", FifoQueue="true", ContentBasedDeduplication="true")


async def test_a_message_is_sent_and_its_digest_told(sqs: Workbench) -> None:
    body = "h\u00e9llo \U0001f600\t\r\n"
    result = await send(sqs, MessageBody=body)
    assert result == {
        "MD5OfMessageBody": md5(body.encode()).hexdigest(),
        "MessageId": "id-0",
    }
    sent = sqs.queues.get("q").sent[0]
    assert sent.body == body
    assert (sent.attributes, sent.delay_seconds, sent.group_id) == ({}, None, None)


async def test_a_queue_that_is_not_there_takes_nothing(sqs: Workbench) -> None:
    refusal = await sqs.refusal("SendMessage", QueueUrl=url("nowhere"), MessageBody="x")
    assert refusal.code == "AWS.SimpleQueueService.NonExistentQueue"


async def test_an_empty_body_is_none(sqs: Workbench) -> None:
    assert await refused(sqs, MessageBody="") == "MissingParameter"


@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"])
async def test_characters_that_xml_cannot_have_are_refused(sqs: Workbench, character: str) -> None:
    assert await refused(sqs, MessageBody=f"a{character}b") == "InvalidMessageContents"


@pytest.mark.parametrize("character", ["\t", "\n", "\r", " ", "\x7f", "\ud7ff", "\ue000", "\ufffd"])
async def test_characters_at_the_edge_of_the_set_are_taken(sqs: Workbench, character: str) -> None:
    await send(sqs, MessageBody=character)


async def test_a_body_may_fill_the_maximum_in_bytes(sqs: Workbench) -> None:
    sqs.queues.make("small", MaximumMessageSize="1024")
    await send(sqs, "small", MessageBody="\u00e9" * 512)
    assert await refused_after_one(sqs, "small", MessageBody="\u00e9" * 512 + "x")


async def refused_after_one(sqs: Workbench, name: str, **parameters: Any) -> bool:
    refusal = await sqs.refusal("SendMessage", QueueUrl=url(name), **parameters)
    return refusal.code == "InvalidParameterValue" and len(sqs.queues.get(name).sent) == 1


async def test_attributes_count_towards_the_maximum(sqs: Workbench) -> None:
    sqs.queues.make("small", MaximumMessageSize="1024")
    attributes = {"name": text("v" * 1008, "String")}
    await send(sqs, "small", MessageBody="123456", MessageAttributes=attributes)
    assert await refused_after_one(
        sqs, "small", MessageBody="1234567", MessageAttributes=attributes
    )


async def test_a_megabyte_is_the_most(sqs: Workbench) -> None:
    assert await refused(sqs, MessageBody="x" * 1_048_577) == "InvalidParameterValue"
    await send(sqs, MessageBody="x" * 1_048_576)


@pytest.mark.parametrize("delay", [0, 900])
async def test_a_delay_within_bounds_is_kept(sqs: Workbench, delay: int) -> None:
    await send(sqs, DelaySeconds=delay)
    assert sqs.queues.get("q").sent[0].delay_seconds == delay


@pytest.mark.parametrize("delay", [-1, 901])
async def test_a_delay_out_of_bounds_is_refused(sqs: Workbench, delay: int) -> None:
    assert await refused(sqs, DelaySeconds=delay) == "InvalidParameterValue"


# Attributes.


async def test_attributes_are_kept_and_their_digest_told(sqs: Workbench) -> None:
    result = await send(
        sqs,
        MessageAttributes={
            "City": text("Any City"),
            "Count": text("-1.5e3", "Number.int"),
            "Raw": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"},
        },
    )
    # As the SDKs digest them: sorted, each part after its length.
    digested = (
        b"\0\0\0\4City\0\0\0\6String\1\0\0\0\x08Any City"
        b"\0\0\0\5Count\0\0\0\x0aNumber.int\1\0\0\0\6-1.5e3"
        b"\0\0\0\3Raw\0\0\0\x0aBinary.png\2\0\0\0\2\0\xff"
    )
    assert result["MD5OfMessageAttributes"] == md5(digested).hexdigest()
    assert sqs.queues.get("q").sent[0].attributes == {
        "City": ("String", b"Any City"),
        "Count": ("Number.int", b"-1.5e3"),
        "Raw": ("Binary.png", b"\x00\xff"),
    }


async def test_ten_attributes_are_taken_and_eleven_are_not(sqs: Workbench) -> None:
    eleven = {f"a{number}": text("v") for number in range(11)}
    assert await refused(sqs, MessageAttributes=eleven) == "InvalidParameterValue"
    del eleven["a10"]
    await send(sqs, MessageAttributes=eleven)


@pytest.mark.parametrize("name", ["a", "a" * 256, "A_b-c.9", "aws", "AWSx", "amazon", "a.b.c"])
async def test_names_of_attributes_that_are_taken(sqs: Workbench, name: str) -> None:
    await send(sqs, MessageAttributes={name: text("v")})


@pytest.mark.parametrize(
    "name",
    [
        *("a" * 257, "a b", "\u00e9", "a\n", "a/b", ".", ".a", "a.", "a..b"),
        *("AWS.a", "aws.a", "Amazon.a", "amazon.b", "duolog.types"),
    ],
)
async def test_names_of_attributes_that_are_refused(sqs: Workbench, name: str) -> None:
    assert await refused(sqs, MessageAttributes={name: text("v")}) == "InvalidParameterValue"


@pytest.mark.parametrize("number", ["0", "-1", "+1", "1.5", ".5", "5.", "1e10", "1E-5", "007"])
async def test_numbers_that_are_taken(sqs: Workbench, number: str) -> None:
    await send(sqs, MessageAttributes={"n": text(number, "Number")})


@pytest.mark.parametrize(
    "number", ["x", "1x", "0x10", "1e", ".", "-", "1,5", "\u0661", "NaN", "1 "]
)
async def test_numbers_that_are_none(sqs: Workbench, number: str) -> None:
    given = {"n": text(number, "Number")}
    assert await refused(sqs, MessageAttributes=given) == "InvalidParameterValue"


@pytest.mark.parametrize(
    "value",
    [
        {"DataType": "String"},
        {"DataType": "String", "StringValue": ""},
        {"DataType": "String", "BinaryValue": b"x"},
        {"DataType": "String", "StringValue": "x", "BinaryValue": b"x"},
        {"DataType": "Binary"},
        {"DataType": "Binary", "BinaryValue": b""},
        {"DataType": "Binary", "StringValue": "x"},
        {"DataType": "Number", "StringValue": ""},
        {"DataType": "", "StringValue": "x"},
        {"DataType": "string", "StringValue": "x"},
        {"DataType": "Strings", "StringValue": "x"},
        {"DataType": "String.", "StringValue": "x"},
        {"DataType": "String." + "x" * 250, "StringValue": "x"},
        {"DataType": "String", "StringValue": "x", "StringListValues": ["y"]},
        {"DataType": "Binary", "BinaryValue": b"x", "BinaryListValues": [b"y"]},
    ],
)
async def test_values_of_attributes_that_are_refused(sqs: Workbench, value: dict[str, Any]) -> None:
    assert await refused(sqs, MessageAttributes={"a": value}) == "InvalidParameterValue"


async def test_text_of_attributes_has_the_same_characters_as_bodies(sqs: Workbench) -> None:
    given = {"a": text("\x01")}
    assert await refused(sqs, MessageAttributes=given) == "InvalidMessageContents"


async def test_an_attribute_needs_a_type(sqs: Workbench) -> None:
    given = {"a": {"StringValue": "x"}}
    assert await refused(sqs, MessageAttributes=given) == "MissingParameter"


async def test_a_trace_header_is_kept_and_digested_and_does_not_count(sqs: Workbench) -> None:
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
    result = await send(
        sqs,
        MessageBody="x" * 1_048_576,
        MessageSystemAttributes={"AWSTraceHeader": text(trace)},
    )
    digested = b"\0\0\0\x0eAWSTraceHeader\0\0\0\6String\1\0\0\0" + bytes([len(trace)])
    assert result["MD5OfMessageSystemAttributes"] == md5(digested + trace.encode()).hexdigest()
    assert "MD5OfMessageAttributes" not in result
    assert sqs.queues.get("q").sent[0].trace_header == trace


@pytest.mark.parametrize(
    "system",
    [
        {"SenderId": text("me")},
        {"AWSTraceHeader": text("")},
        {"AWSTraceHeader": text("1", "Number")},
        {"AWSTraceHeader": {"DataType": "Binary", "BinaryValue": b"x"}},
    ],
)
async def test_other_system_attributes_cannot_be_sent(
    sqs: Workbench, system: dict[str, Any]
) -> None:
    assert await refused(sqs, MessageSystemAttributes=system) == "InvalidParameterValue"


# Order and duplicates.


async def test_a_fifo_queue_tells_the_sequence_number(sqs: Workbench) -> None:
    result = await send(sqs, "f.fifo", MessageGroupId="g", MessageDeduplicationId="d")
    assert result["SequenceNumber"] == "0" * 20
    sent = sqs.queues.get("f.fifo").sent[0]
    assert (sent.group_id, sent.deduplication_id) == ("g", "d")


async def test_a_fifo_queue_needs_a_group(sqs: Workbench) -> None:
    assert await refused(sqs, "f.fifo", MessageDeduplicationId="d") == "MissingParameter"


async def test_a_fifo_queue_needs_a_deduplication_id(sqs: Workbench) -> None:
    assert await refused(sqs, "f.fifo", MessageGroupId="g") == "InvalidParameterValue"


async def test_content_can_take_the_place_of_a_deduplication_id(sqs: Workbench) -> None:
    await send(sqs, "c.fifo", MessageGroupId="g")
    await send(sqs, "c.fifo", MessageGroupId="g", MessageDeduplicationId="d")
    given = [sent.deduplication_id for sent in sqs.queues.get("c.fifo").sent]
    assert given == [None, "d"]


async def test_a_fifo_queue_delays_no_single_message(sqs: Workbench) -> None:
    assert (
        await refused(sqs, "c.fifo", MessageGroupId="g", DelaySeconds=1) == "InvalidParameterValue"
    )
    await send(sqs, "c.fifo", MessageGroupId="g", DelaySeconds=0)
    assert sqs.queues.get("c.fifo").sent[0].delay_seconds is None


async def test_a_standard_queue_takes_groups_and_no_deduplication_ids(sqs: Workbench) -> None:
    assert await refused(sqs, MessageDeduplicationId="d") == "InvalidParameterValue"
    await send(sqs, MessageGroupId="tenant")
    assert sqs.queues.get("q").sent[0].group_id == "tenant"


@pytest.mark.parametrize("token", ["a", "Z9" * 64, PUNCTUATION])
async def test_ids_that_are_taken(sqs: Workbench, token: str) -> None:
    await send(sqs, "f.fifo", MessageGroupId=token, MessageDeduplicationId=token)


@pytest.mark.parametrize("token", ["", "a" * 129, "a b", "\u00e9", "a\n", "\x7f"])
@pytest.mark.parametrize("parameter", ["MessageGroupId", "MessageDeduplicationId"])
async def test_ids_that_are_refused(sqs: Workbench, parameter: str, token: str) -> None:
    ids = {"MessageGroupId": "g", "MessageDeduplicationId": "d", parameter: token}
    assert await refused(sqs, "f.fifo", **ids) == "InvalidParameterValue"
