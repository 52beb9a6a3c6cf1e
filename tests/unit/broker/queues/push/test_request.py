"""What a pushed message looks like to its endpoint."""

from hypothesis import given
from hypothesis import strategies as st

from duolog.broker.queues.push.request import (
    ATTRIBUTES_BYTES_MAX,
    VALUE_BYTES_MAX,
    push_headers,
)
from duolog.broker.queues.receiving import Received
from duolog.core.queues.message import Message, MessageAttribute


def headers(
    attributes: dict[str, MessageAttribute] | None = None,
    *,
    group: str | None = None,
    message_id: str = "some-id",
) -> dict[bytes, bytes]:
    message = Message("body", attributes or {}, group, sent_ms=1_700_000_000_123)
    return dict(push_headers("work", Received(message_id, "receipt", message, "", 3, 0, None)))


def text(value: str) -> MessageAttribute:
    return MessageAttribute("String", value.encode())


def test_the_endpoint_is_told_which_message_it_gets_and_for_which_time() -> None:
    assert headers(group="red") == {
        b"Content-Type": b"text/plain; charset=utf-8",
        b"X-Duolog-Queue": b"work",
        b"X-Duolog-Message-Id": b"some-id",
        b"X-Duolog-Receive-Count": b"3",
        b"X-Duolog-Sent-Timestamp": b"1700000000123",
        b"X-Duolog-Message-Group-Id": b"red",
    }


def test_a_message_without_a_group_says_nothing_of_one() -> None:
    assert b"X-Duolog-Message-Group-Id" not in headers()


def test_attributes_are_headers_and_binary_ones_are_in_base64() -> None:
    found = headers(
        {
            "colour": text("dark grün"),
            "n": MessageAttribute("Number.int", b"42"),
            "raw": MessageAttribute("Binary.png", b"\r\n\xff"),
            "none": text(""),
        }
    )
    assert found[b"X-Duolog-Attribute-colour"] == "dark grün".encode()
    assert found[b"X-Duolog-Attribute-n"] == b"42"
    assert found[b"X-Duolog-Attribute-raw"] == b"DQr/"
    assert found[b"X-Duolog-Attribute-none"] == b""
    assert b"X-Duolog-Attributes-Omitted" not in found


def test_nobody_writes_a_header_by_a_value_with_a_line_break() -> None:
    found = headers(
        {"good": text("yes"), "bad": text("x\r\nX-Duolog-Queue: other"), "null": text("\0")},
        group="g\nHost: elsewhere",
        message_id="id\r\n\r\nbody",
    )
    assert found[b"X-Duolog-Attribute-good"] == b"yes"
    assert found[b"X-Duolog-Attributes-Omitted"] == b"2"
    assert b"X-Duolog-Message-Group-Id" not in found
    assert b"X-Duolog-Message-Id" not in found


def test_nobody_writes_a_header_by_an_attribute_name() -> None:
    found = headers({"a: b\r\nc": text("x"), "with space": text("x"), "naïve": text("x")})
    assert found[b"X-Duolog-Attributes-Omitted"] == b"3"
    assert not [name for name in found if name.startswith(b"X-Duolog-Attribute-")]


def test_a_value_that_would_arrive_changed_is_left_out() -> None:
    found = headers({"space": text(" x"), "tab": text("x\t"), "inner": text("a \t b")})
    assert found[b"X-Duolog-Attribute-inner"] == b"a \t b"
    assert found[b"X-Duolog-Attributes-Omitted"] == b"2"


def test_of_names_that_headers_do_not_tell_apart_the_first_is_taken() -> None:
    found = headers({"Trace": text("1"), "trace": text("2")})
    assert found[b"X-Duolog-Attribute-Trace"] == b"1"
    assert found[b"X-Duolog-Attributes-Omitted"] == b"1"


def test_attributes_that_no_server_would_take_are_left_out() -> None:
    long = {"a": text("x" * VALUE_BYTES_MAX), "b": text("x" * (VALUE_BYTES_MAX + 1))}
    assert headers(long)[b"X-Duolog-Attributes-Omitted"] == b"1"
    found = headers({f"name-{n}": text("x" * VALUE_BYTES_MAX) for n in range(10)})
    assert sum(map(len, found.values())) < ATTRIBUTES_BYTES_MAX
    assert found[b"X-Duolog-Attributes-Omitted"] == b"7"


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=40), max_size=8), st.text())
def test_whatever_a_producer_sends_no_header_holds_a_control_character(
    values: dict[str, bytes], group: str
) -> None:
    group = group.encode(errors="replace").decode()
    attributes = {
        name.encode(errors="replace").decode(): MessageAttribute("String", value)
        for name, value in values.items()
    }
    for name, value in headers(attributes, group=group).items():
        assert not set(range(32)) - {9} & set(name + value)
        assert b":" not in name
