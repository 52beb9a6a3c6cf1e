from contextlib import suppress
from urllib.parse import quote, quote_plus, unquote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.queue_errors import InvalidParameterValue, MissingParameter, QueueRefusal
from duolog.wire.sqs import query_protocol
from duolog.wire.sqs.apis import ACTIONS
from duolog.wire.sqs.messages import (
    CreateQueueRequest,
    DeleteQueueRequest,
    GetQueueAttributesRequest,
    GetQueueAttributesResult,
    Message,
    MessageAttributeValue,
    ReceiveMessageResult,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
    Shape,
)
from duolog.wire.sqs.query_form import PARAMETERS_MAX, parse_form


def decoded(form: str) -> Shape:
    parsed = parse_form(form.encode())
    return query_protocol.decode(ACTIONS[parsed["Action"]], parsed)


def test_lists_and_maps_are_numbered() -> None:
    assert decoded(
        "Action=CreateQueue&QueueName=q&Attribute.2.Name=B&Attribute.2.Value=2"
        "&Attribute.1.Name=A&Attribute.1.Value=1&Tag.1.Key=k&Tag.1.Value=v"
    ) == CreateQueueRequest("q", {"A": "1", "B": "2"}, {"k": "v"})


def test_numbers_give_the_order_and_may_have_gaps() -> None:
    form = "&".join(f"AttributeName.{number}=n{number}" for number in (10, 2, 7))
    request = decoded(f"Action=GetQueueAttributes&QueueUrl=u&{form}")
    assert request == GetQueueAttributesRequest("u", ["n2", "n7", "n10"])


def test_a_list_or_map_of_one_needs_no_number() -> None:
    request = decoded("Action=GetQueueAttributes&QueueUrl=u&AttributeName=All")
    assert request == GetQueueAttributesRequest("u", ["All"])
    request = decoded("Action=CreateQueue&QueueName=q&Attribute.Name=A&Attribute.Value=1")
    assert request == CreateQueueRequest("q", {"A": "1"})


def test_a_batch_nests_lists_in_lists() -> None:
    entry = "SendMessageBatchRequestEntry.1"
    attribute = f"{entry}.MessageAttribute.1"
    assert decoded(
        f"Action=SendMessageBatch&QueueUrl=u&{entry}.Id=a&{entry}.MessageBody=b+c%0D%0A"
        f"&{entry}.DelaySeconds=5&{attribute}.Name=n&{attribute}.Value.DataType=Binary"
        f"&{attribute}.Value.BinaryValue=%2Fw%3D%3D"
    ) == SendMessageBatchRequest(
        "u",
        [
            SendMessageBatchRequestEntry(
                "a", "b c\r\n", 5, {"n": MessageAttributeValue("Binary", binary_value=b"\xff")}
            )
        ],
    )


def test_a_batch_without_entries_is_empty() -> None:
    expected = SendMessageBatchRequest("u", [])
    assert decoded("Action=SendMessageBatch&QueueUrl=u") == expected
    assert decoded("Action=SendMessageBatch&QueueUrl=u&Entries=") == expected


@pytest.mark.parametrize(
    ("form", "parameter"),
    [
        ("Action=CreateQueue", "QueueName"),
        ("Action=TagQueue&QueueUrl=u", "Tag"),
        ("Action=UntagQueue&QueueUrl=u", "TagKey"),
        ("Action=AddPermission&QueueUrl=u&Label=l&ActionName.1=x", "AWSAccountId"),
        ("Action=TagQueue&QueueUrl=u&Tag.1.Key=k", "Tag.1.Value"),
        ("Action=TagQueue&QueueUrl=u&Tag.3.Value=v", "Tag.3.Key"),
        ("Action=UntagQueue&QueueUrl=u&TagKey.1.x=v", "TagKey.1"),
        (
            "Action=SendMessageBatch&QueueUrl=u&SendMessageBatchRequestEntry.2.Id=a",
            "SendMessageBatchRequestEntry.2.MessageBody",
        ),
        (
            "Action=SendMessage&QueueUrl=u&MessageBody=b&MessageAttribute.1.Name=n"
            "&MessageAttribute.1.Value.StringValue=v",
            "MessageAttribute.1.Value.DataType",
        ),
    ],
)
def test_a_missing_parameter_is_named(form: str, parameter: str) -> None:
    with pytest.raises(MissingParameter) as refusal:
        decoded(form)
    assert str(refusal.value) == f"The request must contain the parameter {parameter}."


@pytest.mark.parametrize("value", ["", "x", "1.5", "1e3", "٣", "0x1", "2147483648", "9" * 5_000])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(InvalidParameterValue, match="DelaySeconds is invalid"):
        decoded(f"Action=SendMessage&QueueUrl=u&MessageBody=b&DelaySeconds={quote(value)}")


def test_a_blob_that_is_no_base64_is_refused() -> None:
    attribute = "MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=Binary"
    with pytest.raises(InvalidParameterValue, match="BinaryValue is invalid"):
        decoded(
            f"Action=SendMessage&QueueUrl=u&MessageBody=b&{attribute}"
            "&MessageAttribute.1.Value.BinaryValue=%25"
        )


@given(st.text(), st.text())
def test_escapes_are_undone_whichever_way_they_were_made(name: str, value: str) -> None:
    for escape in (quote, quote_plus, lambda text: "".join(f"%{b:02x}" for b in text.encode())):
        parsed = parse_form(f"{escape(name)}={escape(value)}&Last=1".encode())
        assert parsed == {name: value, "Last": "1"}


@given(st.text(st.sampled_from("%=+_\r\n a4F"), max_size=12))
def test_a_value_may_hold_what_is_special_elsewhere(text: str) -> None:
    try:
        parsed = parse_form(b"Name=" + text.encode())
    except InvalidParameterValue:
        return
    assert parsed == {"Name": unquote(text.replace("+", " "))}


@pytest.mark.parametrize("data", [b"a=\xff", b"a=%FF", b"a=%", b"a=%4", b"a=%zz", b"%C3=1"])
def test_what_is_no_form_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidParameterValue):
        parse_form(data)


def test_parameters_are_bounded() -> None:
    fields = [b"a.%d=1" % number for number in range(PARAMETERS_MAX + 1)]
    assert len(parse_form(b"&".join(fields[1:]))) == PARAMETERS_MAX
    with pytest.raises(InvalidParameterValue):
        parse_form(b"&".join(fields))


def test_names_that_nest_without_end_are_passed_over() -> None:
    request = decoded(f"Action=DeleteQueue&QueueUrl=u&{'a.' * 100_000}=1&..=1&Tag.{'9' * 5_000}=1")
    assert request == DeleteQueueRequest("u")


def test_an_answer_is_laid_out_as_documented() -> None:
    result = GetQueueAttributesResult({"VisibilityTimeout": "30", "DelaySeconds": "0"})
    assert query_protocol.encode(ACTIONS["GetQueueAttributes"], result, b"1ea71be5").decode() == (
        '<?xml version="1.0"?><GetQueueAttributesResponse '
        'xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><GetQueueAttributesResult>'
        "<Attribute><Name>VisibilityTimeout</Name><Value>30</Value></Attribute>"
        "<Attribute><Name>DelaySeconds</Name><Value>0</Value></Attribute>"
        "</GetQueueAttributesResult><ResponseMetadata><RequestId>1ea71be5</RequestId>"
        "</ResponseMetadata></GetQueueAttributesResponse>"
    )


@given(st.text(st.characters(exclude_categories=[])))
def test_whatever_a_body_holds_the_document_stays_readable(body: str) -> None:
    answer = query_protocol.encode(
        ACTIONS["ReceiveMessage"], ReceiveMessageResult([Message(body=body)]), b"an-id"
    )
    found = ElementTree.fromstring(answer).find(".//{*}Body")
    assert found is not None
    read = found.text or ""
    assert len(read) == len(body)
    assert all(a == b or a == "\ufffd" for a, b in zip(read, body, strict=True))


@given(st.sampled_from(sorted(ACTIONS)), st.binary(max_size=200))
def test_arbitrary_bytes_are_understood_or_refused(name: str, body: bytes) -> None:
    with suppress(QueueRefusal):
        query_protocol.decode(ACTIONS[name], parse_form(body))
