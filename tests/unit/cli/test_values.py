"""What a text on the command line means to a parameter."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from duolog.cli.values import Unfit, accepted, either, likely


class Colour(StrEnum):
    red = "red"
    dark_red = "dark_red"


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "a", "a"),
        (int, "12", 12),
        (list[int], "-1", -1),
        (float, "0.5", 0.5),
        (Path, "a/b", Path("a/b")),
        (Colour, "dark_red", Colour.dark_red),
    ],
)
def test_a_text_becomes_what_the_parameter_is(annotation: Any, text: str, value: Any) -> None:
    assert accepted(annotation, None, None).read(text, "--it") == value


@pytest.mark.parametrize(
    ("annotation", "least", "most", "text", "takes"),
    [
        (int, None, None, "1.5", "a whole number."),
        (int, 1, None, "0", "a whole number, 1 or more."),
        (int, None, 5, "6", "a whole number, 5 or less."),
        (int, 1, 3_650, "4000", "a whole number, from 1 to 3,650."),
        (float, 0, None, "nan", "a number, 0 or more."),
        (float, None, None, "nan", "a number."),
        (Colour, None, None, "blue", "red or dark_red."),
        (Colour, None, None, "darkred", "red or dark_red. Did you mean 'dark_red'?"),
    ],
)
def test_a_text_that_does_not_fit_is_told_what_would(
    annotation: Any, least: float | None, most: float | None, text: str, takes: str
) -> None:
    with pytest.raises(Unfit) as refused:
        accepted(annotation, least, most).read(text, "--it")
    assert str(refused.value) == f"--it was given '{text}', but takes {takes}"


def test_two_letters_that_changed_places_are_understood() -> None:
    assert likely("dql", ["dlq", "orders"]) == "dlq"
    assert likely("dance", ["topic", "queue"]) is None


def test_choices_are_listed_as_people_do() -> None:
    assert either(["a"]) == "a"
    assert either(["a", "b", "c"]) == "a, b or c"
