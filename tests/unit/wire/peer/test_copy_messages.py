"""Requests for copies and their answers, also when they are cut off or lie."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.wire.peer.copying import (
    CopyAnswer,
    CopyRequest,
    CopyResult,
    CopyWanted,
    decode_answer,
    decode_request,
    encode_answer_head,
    encode_request,
)
from duolog.wire.peer.frames import MalformedFrame

TOPIC = bytes(range(16))

offsets = st.integers(-1, (1 << 63) - 1)
wanted = st.builds(
    CopyWanted, st.binary(min_size=16, max_size=16), st.integers(0, 9), offsets, offsets, offsets
)


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.lists(wanted, max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_request_arrives_as_it_was(session: int, sequence: int, names: list[CopyWanted]) -> None:
    request = CopyRequest(session, sequence, 500, 1 << 20, names, [(TOPIC, 3)])
    assert decode_request(memoryview(encode_request(request))) == request


def answer(*records: bytes) -> bytes:
    results = [
        CopyResult(TOPIC, index, 0, 1, 0, 2, 2, len(each)) for index, each in enumerate(records)
    ]
    return encode_answer_head(CopyAnswer(7, results)) + b"".join(records)


def test_each_result_gets_its_own_records() -> None:
    session, copied = decode_answer(memoryview(answer(b"one", b"", b"three")))
    assert session == 7
    assert [bytes(each.records) for each in copied] == [b"one", b"", b"three"]


def test_an_answer_that_is_cut_off_anywhere_is_refused() -> None:
    whole = answer(b"one", b"two")
    for end in range(len(whole)):
        with pytest.raises(MalformedFrame):
            decode_answer(memoryview(whole[:end]))
    with pytest.raises(MalformedFrame):
        decode_answer(memoryview(whole + b"x"))


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decode in (decode_request, decode_answer):
        try:
            decode(memoryview(data))
        except MalformedFrame:
            continue


def test_a_head_that_claims_to_be_huge_is_refused_before_it_is_read() -> None:
    with pytest.raises(MalformedFrame):
        decode_answer(memoryview(b"\xff\xff\xff\xff" + b"x" * 10))
