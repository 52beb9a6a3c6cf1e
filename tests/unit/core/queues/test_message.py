"""What a Kafka producer wrote, as a message."""

from base64 import b64encode

import pytest

from duolog.core.queues.message import (
    ENCODING,
    TYPES,
    MessageAttribute,
    Outgoing,
    from_record,
    to_record,
)
from duolog.records.record import Record

NO_TEXT = [b"\xff\xfe", b"a\x00b", b"\x1b[2J", "\uffff".encode()]


def test_text_is_carried_as_it_is() -> None:
    record = Record(b"k", "tab\tline\r\nünïcödé".encode(), (("h", b"v"),), 7)
    message = from_record(record)
    assert message.body == "tab\tline\r\nünïcödé"
    assert message.attributes == {"h": MessageAttribute("String", b"v")}
    assert (message.group_id, message.sent_ms) == ("k", 7)


@pytest.mark.parametrize("value", NO_TEXT)
def test_a_value_that_sqs_cannot_carry_arrives_in_base64(value: bytes) -> None:
    message = from_record(Record(None, value, (), 0))
    assert message.body == b64encode(value).decode()
    assert message.attributes == {ENCODING: MessageAttribute("String", b"base64")}


@pytest.mark.parametrize("value", NO_TEXT)
@pytest.mark.parametrize("types", [b'{"h":"String"}', b'{"h":"Number"}', b"nonsense"])
def test_a_header_that_sqs_cannot_carry_is_binary_whatever_it_is_called(
    value: bytes, types: bytes
) -> None:
    message = from_record(Record(None, b"", (("h", value), (TYPES, types)), 0))
    assert message.attributes == {"h": MessageAttribute("Binary", value)}


def test_names_and_groups_show_where_they_are_damaged() -> None:
    message = from_record(Record(b"a\x00b", b"", (("h\x01", b"v"),), 0))
    assert message.group_id == "a\ufffdb"
    assert message.attributes == {"h\ufffd": MessageAttribute("String", b"v")}


def test_what_was_sent_is_what_is_received() -> None:
    attributes = {
        "s": MessageAttribute("String", b"text"),
        "n": MessageAttribute("Number.int", b"7"),
        "b": MessageAttribute("Binary.png", b"\x00"),
    }
    sent = Outgoing("body", attributes, group_id="g", deduplication_id="d", trace_header="t")
    message = from_record(to_record(sent, fifo=True, delay_ms=0, now_ms=5))
    assert (message.body, message.attributes) == ("body", attributes)
    assert (message.group_id, message.deduplication_id, message.trace_header) == ("g", "d", "t")
