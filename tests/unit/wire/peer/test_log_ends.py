"""Where the logs of another node end."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.log_end import LogEnd
from duolog.wire.peer.frames import MalformedFrame
from duolog.wire.peer.log_ends import (
    PLACES_MAX,
    decode_ends,
    decode_places,
    encode_ends,
    encode_places,
)

PLACES = [(b"i" * 16, 0), (b"j" * 16, 7)]
ENDS = [LogEnd(3, 6_000), None]


def test_places_and_ends_survive_the_way() -> None:
    assert decode_places(memoryview(encode_places(PLACES))) == PLACES
    assert decode_ends(memoryview(encode_ends(ENDS)), 2) == ENDS


def test_an_answer_to_another_question_is_refused() -> None:
    with pytest.raises(MalformedFrame, match="2 log ends instead of 3"):
        decode_ends(memoryview(encode_ends(ENDS)), 3)


def test_too_large_a_question_is_refused() -> None:
    with pytest.raises(MalformedFrame, match="larger than"):
        decode_places(memoryview(encode_places([PLACES[0]] * (PLACES_MAX + 1))))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    for decode in (decode_places, lambda some: decode_ends(some, 1)):
        with contextlib.suppress(MalformedFrame):
            decode(memoryview(body))
