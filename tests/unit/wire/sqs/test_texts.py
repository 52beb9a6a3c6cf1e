"""Texts of one length that lie in one, held against lists of them."""

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.wire.sqs import texts
from duolog.wire.sqs.texts import Texts, numbered

compiled = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")

KINDS = st.lists(
    st.tuples(
        st.text(st.characters(codec="ascii"), min_size=3, max_size=3),
        st.integers(0, 0xFFF - 40),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=6,
)
PLACES = st.none() | st.integers(-8, 8)


@compiled
def test_it_is_compiled_where_tests_run() -> None:
    assert texts.number_each.__module__ == "duolog.wire.sqs._texts"


@given(st.lists(st.text("abc", min_size=2, max_size=2), max_size=6), PLACES, PLACES)
def test_they_are_what_a_list_of_them_is(
    several: list[str], first: int | None, last: int | None
) -> None:
    own = Texts("".join(several), 2)
    assert list(own) == several
    assert len(own) == len(several)
    assert [own[place] for place in range(-len(own), len(own))] == several * 2
    assert list(own[first:last]) == several[first:last]
    for place in (-len(own) - 1, len(own)):
        with pytest.raises(IndexError):
            own[place]


@given(KINDS)
def test_they_count_on_from_the_first(kinds: list[tuple[str, int, int]]) -> None:
    befores, firsts, counts = map(list, zip(*kinds, strict=True))
    usual = [
        f"{before}{number:03x}"
        for before, first, count in kinds
        for number in range(first, first + count)
    ]
    assert list(numbered(befores, firsts, counts, 3)) == usual
    assert texts._number_in_python(befores, firsts, counts, 3) == "".join(usual)


@pytest.mark.parametrize("number_each", [texts.number_each, texts._number_in_python])
def test_numbers_end_where_their_digits_do(number_each: object) -> None:
    assert callable(number_each)
    assert number_each(["a"], [0xFE], [2], 2) == "afeaff"
    assert number_each(["a"], [1 << 8], [0], 2) == ""
    for first, count in ((0xFF, 2), (1 << 8, 1), (-1, 2), (0, -1), (1 << 62, 1)):
        with pytest.raises(ValueError):
            number_each(["a"], [first], [count], 2)


@compiled
@pytest.mark.parametrize(
    "wrong",
    [
        (["\u00e9"], [0], [1], 2),
        ([b"a"], [0], [1], 2),
        (["a"], ["0"], [1], 2),
        (["a"], [0], [None], 2),
        (["a"], [1 << 64], [1], 2),
        (["a"], [0], [1 << 64], 2),
        (["a"], [0], [1 << 40], 15),
        (["a"], [0, 1], [1], 2),
        (["a"], [0], [], 2),
        (["a"], [0], [1], 0),
        (["a"], [0], [1], 16),
        (("a",), [0], [1], 2),
    ],
)
def test_what_is_no_kind_of_text_is_refused(wrong: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        texts.number_each(*wrong)  # type: ignore[arg-type]
