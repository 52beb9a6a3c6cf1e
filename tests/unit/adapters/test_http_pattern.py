"""Requests that look like an earlier one are read as the parser reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.adapters.http_pattern import HeadPatterns
from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.http_reader import Parsed, RequestReader
from duolog.ports.http import Memo, Request, Response

LIMITS = HttpLimits(head_bytes_max=1000, headers_max=10, body_bytes_max=100)


def request_of(
    body: bytes = b"{}",
    *,
    action: bytes = b"SendMessage",
    date: bytes = b"20260101T000000Z",
    signature: bytes = b"0f" * 32,
    length: bytes | None = None,
    more: bytes = b"",
) -> bytes:
    return (
        b"POST / HTTP/1.1\r\nHost: here:9324\r\nX-Amz-Target: AmazonSQS.%b\r\n"
        b"User-Agent: Boto3/1.40.0 md/Botocore#1.40.0\r\nX-Amz-Date: %b\r\n"
        b"Authorization: AWS4-HMAC-SHA256 Credential=me/20260101/x, Signature=%b\r\n"
        b"%bContent-Length: %b\r\n\r\n%b"
    ) % (action, date, signature, more, length or b"%d" % len(body), body)


def feed(reader: RequestReader, data: bytes) -> list[Parsed]:
    """As a connection does it."""
    known = reader.recognize(data)
    return reader.feed(data) if known is None else [(reader.request_of(data, known), True)]


def taught(*lessons: bytes) -> RequestReader:
    reader = RequestReader(LIMITS, "peer")
    for lesson in lessons:
        feed(reader, lesson)
    return reader


def read(reader: RequestReader, data: bytes) -> tuple[list[Parsed], str]:
    """Without what requests that are alike share."""
    parsed = feed(reader, data)
    for item, _ in parsed:
        if isinstance(item, Request):
            item.memo = None
    return parsed, reader.phase


def untaught(data: bytes) -> tuple[list[Parsed], str]:
    return read(RequestReader(LIMITS, "peer"), data)


@given(
    position=st.integers(0, len(request_of()) - 1),
    value=st.integers(0, 255),
    cut=st.integers(0, 3),
)
def test_a_damaged_request_is_refused_or_read_as_by_the_parser(
    position: int, value: int, cut: int
) -> None:
    data = bytearray(request_of())
    data[position] = value
    damaged = bytes(data[: len(data) - cut])
    reader = taught(request_of())
    assert read(reader, damaged) == untaught(damaged)


@given(
    st.sampled_from((b"SendMessage", b"ReceiveMessage", b"")),
    st.sampled_from((b"20270101T000000Z", b"2027", b"20270101T00\t000Z", b"")),
    st.sampled_from((b"a" * 64, b"a" * 63 + b"\x00", b"a" * 64 + b" ", b"a=" * 32)),
    st.sampled_from((None, b"2", b"02", b"+2", b"3", b"x", b"2\r\nContent-Length: 2")),
    st.sampled_from((b"", b"Host: there\r\n", b"Transfer-Encoding: chunked\r\n", b" folded\r\n")),
)
def test_other_values_are_refused_or_read_as_by_the_parser(
    action: bytes, date: bytes, signature: bytes, length: bytes | None, more: bytes
) -> None:
    data = request_of(action=action, date=date, signature=signature, length=length, more=more)
    reader = taught(request_of(), request_of(action=b"DeleteMessage"))
    assert read(reader, data) == untaught(data)


def test_what_changes_is_taken_from_the_request_itself() -> None:
    reader = taught(request_of(b"before"))
    changed = request_of(b"behind", date=b"20271231T235959Z", signature=b"e1" * 32)
    ((request, keep_alive),) = feed(reader, changed)
    assert isinstance(request, Request)
    assert keep_alive
    assert request.body == b"behind"
    assert request.headers[b"x-amz-date"] == b"20271231T235959Z"
    assert request.headers[b"authorization"].endswith(b"Signature=" + b"e1" * 32)


def test_requests_of_a_connection_share_a_memo_if_they_differ_in_passing_values_only() -> None:
    def memo_of(reader: RequestReader, data: bytes) -> Memo | None:
        ((request, _),) = feed(reader, data)
        assert isinstance(request, Request)
        return request.memo

    lessons = (request_of(), request_of(action=b"DeleteMessage"))
    reader, other_reader = taught(*lessons), taught(*lessons)
    memo = memo_of(reader, request_of(b"[]", date=b"20271231T235959Z"))
    assert memo is not None
    assert memo_of(reader, request_of(action=b"DeleteMessage")) is not memo
    assert memo_of(reader, request_of()) is memo
    assert memo_of(reader, request_of(more=b"Origin: null\r\n")) is None
    assert memo_of(other_reader, request_of()) is not memo


def test_a_request_that_comes_in_pieces_is_not_taken_for_a_whole_one() -> None:
    reader = taught(request_of())
    assert feed(reader, b"PUT") == []
    ((refused, _),) = feed(reader, request_of())
    assert isinstance(refused, Response)
    assert refused.status == 400


def test_the_start_of_a_second_request_is_not_forgotten() -> None:
    reader = taught(request_of())
    second = request_of(b"second")
    ((first, _),) = feed(reader, request_of(b"first") + second[:2])
    ((behind, _),) = feed(reader, second[2:])
    assert isinstance(first, Request)
    assert isinstance(behind, Request)
    assert (first.body, behind.body) == (b"first", b"second")


@pytest.mark.parametrize("size", [100, 101])
def test_bodies_stay_bounded(size: int) -> None:
    reader = taught(request_of(b"x" * 100))
    ((item, _),) = feed(reader, request_of(b"x" * size))
    assert isinstance(item, Request if size <= LIMITS.body_bytes_max else Response)


def test_connections_of_the_same_kind_of_client_share_what_was_learned() -> None:
    patterns = HeadPatterns()
    found = {
        patterns.of(request, request_of(date=date))
        for date in (b"20260101T000000Z", b"20260203T040506Z")
        for request, _ in feed(RequestReader(LIMITS, "peer"), request_of(date=date))
        if isinstance(request, Request)
    }
    assert len(found) == 1
    assert None not in found


@pytest.mark.parametrize("more", [b"Expect: 100-continue\r\n", b"X-Seen: 1\r\nX-Seen: 2\r\n"])
def test_unusual_requests_are_left_to_the_parser(more: bytes) -> None:
    data = request_of(more=more)
    ((request, _),) = feed(RequestReader(LIMITS, "peer"), data)
    assert isinstance(request, Request)
    assert HeadPatterns().of(request, data) is None
