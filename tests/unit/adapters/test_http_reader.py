"""Requests out of bytes, however these are cut."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.http_reader import RequestReader
from duolog.ports.http import Request, Response

TWO_REQUESTS = (
    b"POST /a/b?x=1&y=2 HTTP/1.1\r\nHost: here\r\nX-Seen: 1\r\nx-seen: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nTrailer: no\r\n\r\n"
    b"GET /next HTTP/1.1\r\nHost: here\r\n\r\n"
)
LIMITS = HttpLimits(head_bytes_max=1000, headers_max=10, body_bytes_max=100)


def read(data: bytes, limits: HttpLimits = LIMITS) -> list[tuple[Request | Response, bool]]:
    return RequestReader(limits, "peer").feed(data)


def status_of(data: bytes, limits: HttpLimits = LIMITS) -> int:
    item, keep_alive = read(data, limits)[-1]
    assert isinstance(item, Response)
    assert not keep_alive
    return item.status


@given(st.lists(st.integers(1, len(TWO_REQUESTS) - 1), max_size=8))
def test_requests_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    reader = RequestReader(LIMITS, "peer")
    edges = [0, *sorted(cuts), len(TWO_REQUESTS)]
    found = []
    for start, end in pairwise(edges):
        found += reader.feed(TWO_REQUESTS[start:end])
    (first, first_goes_on), (second, second_goes_on) = found
    assert first == Request(
        "POST",
        "/a/b",
        "x=1&y=2",
        {b"host": b"here", b"x-seen": b"1,2", b"transfer-encoding": b"chunked"},
        b"abcdefg",
        "peer",
    )
    assert second == Request("GET", "/next", "", {b"host": b"here"}, b"", "peer")
    assert first_goes_on
    assert second_goes_on
    assert reader.phase == "idle"


@given(st.binary(max_size=300))
def test_any_bytes_are_taken_without_an_exception(data: bytes) -> None:
    reader = RequestReader(LIMITS, "peer")
    for position in range(0, len(data), 7):
        reader.feed(data[position : position + 7])


@given(st.integers(0, len(TWO_REQUESTS) - 1), st.integers(0, 255))
def test_a_damaged_request_is_refused_or_read(position: int, value: int) -> None:
    damaged = bytearray(TWO_REQUESTS)
    damaged[position] = value
    read(bytes(damaged))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"BREW / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", 400),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\n\r\n", 417),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", 413),
    ],
)
def test_what_is_malformed_or_unsupported_is_refused(data: bytes, status: int) -> None:
    assert status_of(data) == status


def test_a_chunked_body_is_bounded_without_a_declared_length() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert status_of(head + b"32\r\n" + b"x" * 50 + b"\r\n33\r\n" + b"x" * 51) == 413


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_body_is_bounded_also_where_its_last_chunk_is_too_much(pieces: int) -> None:
    data = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    data += (b"11\r\n" + b"x" * 17 + b"\r\n") * 6 + b"0\r\n\r\n"
    reader = RequestReader(LIMITS, "peer")
    size = -(-len(data) // pieces)
    found = [
        item
        for start in range(0, len(data), size)
        for item, _ in reader.feed(data[start : start + size])
    ]
    (refused,) = found
    assert isinstance(refused, Response)
    assert refused.status == 413


def test_a_body_that_comes_in_crumbs_costs_no_more_memory_than_its_bytes() -> None:
    limits = HttpLimits(body_bytes_max=1_000_000)
    reader = RequestReader(limits, "peer")
    reader.feed(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    crumbs = b"2\r\nxy\r\n" * 5_000
    tracemalloc.start()
    for _ in range(20):
        reader.feed(crumbs)
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.body_bytes == 200_000
    assert held_bytes < 400_000


def test_too_many_headers_are_refused() -> None:
    many = b"".join(b"h%d: v\r\n" % number for number in range(11))
    assert status_of(b"GET / HTTP/1.1\r\n" + many + b"\r\n") == 431


def test_a_header_repeated_too_often_is_refused() -> None:
    assert status_of(b"GET / HTTP/1.1\r\n" + b"a: v\r\n" * 14) == 431


def test_a_head_that_is_too_long_is_refused_when_it_comes_at_once() -> None:
    assert status_of(b"GET / HTTP/1.1\r\nHost: x\r\na: " + b"v" * 1000 + b"\r\n\r\n") == 431


@pytest.mark.parametrize(
    "start",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: x\r\na: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: ",
    ],
    ids=["address", "header", "trailer"],
)
def test_an_endless_head_is_refused_while_it_comes(start: bytes) -> None:
    reader = RequestReader(LIMITS, "peer")
    reader.feed(start)
    fed = 0
    while reader.phase != "deaf":
        found = reader.feed(b"x" * 100)
        fed += 100
        assert fed <= LIMITS.head_bytes_max + 200
    ((refusal, _),) = found
    assert isinstance(refusal, Response)
    assert refusal.status == 431


def test_an_offered_upgrade_is_declined_by_answering_as_usual() -> None:
    offer = b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    plain = b"GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
    paths = [item.path for item, _ in read(offer + plain) if isinstance(item, Request)]
    assert paths == ["/1", "/2"]


def test_bytes_after_a_request_that_closes_are_ignored() -> None:
    (only,) = read(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n")
    item, keep_alive = only
    assert isinstance(item, Request)
    assert not keep_alive


def test_an_absolute_target_is_reduced_to_its_path() -> None:
    ((request, _),) = read(b"GET http://here:1/p?q HTTP/1.1\r\nHost: x\r\n\r\n")
    assert isinstance(request, Request)
    assert (request.path, request.query) == ("/p", "q")


def test_a_client_that_expects_it_is_owed_a_continue_until_it_sends_its_body() -> None:
    reader = RequestReader(LIMITS, "peer")
    head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
    assert reader.feed(head) == []
    assert reader.continue_owed
    ((request, _),) = reader.feed(b"ok")
    assert isinstance(request, Request)
    assert request.body == b"ok"
    assert not reader.continue_owed


def test_a_second_host_is_refused() -> None:
    assert status_of(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400
