"""Text that every protocol of SQS can carry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.characters import forbidden_character, without_forbidden


def is_allowed(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


def test_exactly_the_documented_characters_are_allowed() -> None:
    for code in [*range(0xD800), *range(0xE000, 0x10100), 0x1FFFE, 0x1FFFF, 0x10FFFF]:
        character = chr(code)
        found = forbidden_character(b"a" + character.encode() + b"b")
        assert found == (None if is_allowed(code) else character), hex(code)


@pytest.mark.parametrize("text", ["", "plain", "tab\tline\r\n", "ünïcödé", "\x7f", "😀"])
def test_ordinary_text_is_allowed(text: str) -> None:
    assert forbidden_character(text.encode()) is None


@given(st.text())
def test_the_first_forbidden_character_is_found(text: str) -> None:
    forbidden = [character for character in text if not is_allowed(ord(character))]
    assert forbidden_character(text.encode()) == (forbidden[0] if forbidden else None)


@given(st.text())
def test_what_replaces_the_forbidden_is_allowed(text: str) -> None:
    carried = without_forbidden(text)
    assert forbidden_character(carried.encode()) is None
    assert len(carried) == len(text)
    assert carried == text or forbidden_character(text.encode()) is not None
