"""The quick look at text never says yes where the long one says no."""

from hypothesis import given
from hypothesis import strategies as st

from duolog.core.queues.plain_text import is_plainly_carried
from duolog.model.characters import forbidden_character


def test_of_ascii_it_knows_every_character() -> None:
    for code in range(0x80):
        text = f"x{chr(code)}x"
        assert is_plainly_carried(text) == (forbidden_character(text.encode()) is None)


@given(st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)))
def test_what_it_lets_pass_has_nothing_forbidden(text: str) -> None:
    if is_plainly_carried(text):
        assert forbidden_character(text.encode()) is None


def test_json_in_a_message_is_plain() -> None:
    assert is_plainly_carried('{"name": "value",\n\t"path": "C:\\\\dir"}')
