"""What a pipeline can be told."""

import pytest

from duolog_pipelines.errors import InvalidInput
from duolog_pipelines.option import (
    Option,
    declared,
    read_choice,
    read_count,
    read_flag,
    read_text,
    read_values,
)

OPTIONS = declared(
    Option("topic", "__usage", read_text, "Where lines are."),
    Option("limit", "", read_count, "How many."),
    Option("strict", "true", read_flag, "Whether."),
    Option("gaps", "fail", read_choice("fail", "report"), "What then."),
)


def test_an_option_has_its_default() -> None:
    assert read_values(OPTIONS, {"limit": "5"}) == {
        "topic": "__usage",
        "limit": 5,
        "strict": True,
        "gaps": "fail",
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("limit", "0", "'0' is no positive integer"),
        ("strict", "yes", "'yes' is neither true nor false"),
        ("gaps", "hide", "'hide' is none of fail, report"),
        (
            "topik",
            "x",
            r"'topik' here. Did you mean 'topic'\? There are: topic, limit, strict, gaps\.",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_values(OPTIONS, {name: text})
