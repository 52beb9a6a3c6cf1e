"""What a setting accepts, as text and as TOML."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.config.address import Address, parse_address
from duolog.config.setting import INT_MAX, LONG_MAX, Setting, nearest


def setting(kind: Any, default: Any, **more: Any) -> Setting:
    return Setting(name="a.b", kind=kind, default=default, doc="Is a test.", **more)


NUMBER = setting("int", 5, least=1, most=10)
RATIO = setting("double", 0.5, least=0, most=1)
SWITCH = setting("bool", False)
LIST = setting("list", ("delete",), choices=("delete", "compact"))
DOOR = setting("address", Address("localhost", 1), optional=True)
NAMES = setting("list", (), form="lower-case names", fits=str.islower)
WORD = setting("text", "a", form="a word", fits=str.isalpha)
CHOICE = setting("text", None, choices=("on", "off"), optional=True)


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        (NUMBER, " 10 ", 10),
        (RATIO, "0.25", 0.25),
        (RATIO, "1", 1.0),
        (SWITCH, "TRUE", True),
        (LIST, "compact, delete", ("compact", "delete")),
        (DOOR, "[::1]:80", Address("::1", 80)),
        (DOOR, "", None),
        (setting("long", 0), str(LONG_MAX), LONG_MAX),
        (NAMES, "", ()),
        (NAMES, "a, b", ("a", "b")),
        (WORD, "abc", "abc"),
        (CHOICE, "on", "on"),
        (CHOICE, "", None),
    ],
)
def test_a_fitting_text_becomes_a_value(declared: Setting, text: str, value: object) -> None:
    assert declared.parse(text) == value


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (NUMBER, "0"),
        (NUMBER, "11"),
        (NUMBER, "1_0"),
        (NUMBER, "5.0"),
        (NUMBER, "٥"),
        (NUMBER, ""),
        (RATIO, "nan"),
        (RATIO, "1.5"),
        (SWITCH, "yes"),
        (LIST, ""),
        (LIST, "delete,delete"),
        (LIST, "delete,keep"),
        (DOOR, "9092"),
        (DOOR, "localhost:"),
        (DOOR, "::1:80"),
        (DOOR, "host:65536"),
        (setting("int", 0), str(INT_MAX + 1)),
        (setting("path", "x"), " "),
        (NAMES, "a,B"),
        (NAMES, "a,,b"),
        (NAMES, "a,a"),
        (WORD, "a1"),
        (WORD, ""),
        (CHOICE, "maybe"),
    ],
)
def test_an_unfitting_text_is_refused_with_what_would_fit(declared: Setting, text: str) -> None:
    with pytest.raises(ValueError, match="but must be"):
        declared.parse(text)


@pytest.mark.parametrize(
    ("declared", "value"),
    [(NUMBER, True), (NUMBER, "5"), (NUMBER, 5.0), (SWITCH, 1), (SWITCH, "true"), (LIST, [1])],
)
def test_a_toml_value_of_the_wrong_type_is_refused(declared: Setting, value: object) -> None:
    with pytest.raises(ValueError, match="but must be"):
        declared.from_toml(value)


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (NUMBER, 7, 7),
        (RATIO, 1, 1.0),
        (RATIO, 0.1, 0.1),
        (SWITCH, True, True),
        (LIST, ["compact", "delete"], ("compact", "delete")),
        (LIST, "compact", ("compact",)),
    ],
)
def test_a_toml_value_is_taken_as_its_type(
    declared: Setting, value: object, expected: object
) -> None:
    assert declared.from_toml(value) == expected


def test_a_fixed_setting_accepts_its_default_and_says_why_no_other() -> None:
    fixed = setting("text", "producer", only="it is stored as it came")
    assert fixed.parse("producer") == "producer"
    with pytest.raises(ValueError, match="it is stored as it came"):
        fixed.parse("zstd")


def test_a_default_outside_the_bounds_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="but must be"):
        setting("int", 0, least=1)


@given(st.from_regex(r"[a-z0-9:.-]{1,20}", fullmatch=True), st.integers(0, 65535))
def test_an_address_is_read_back_as_it_was_written(host: str, port: int) -> None:
    assert parse_address(str(Address(host, port))) == Address(host, port)


def test_the_nearest_name_is_one_that_could_have_been_meant() -> None:
    known = ["retention.ms", "retention.bytes"]
    assert nearest("retention.m", known) == "retention.ms"
    assert nearest("RETENTION.BYTE", known) == "retention.bytes"
    assert nearest("colour", known) is None


def test_what_is_accepted_is_said_in_words() -> None:
    assert NAMES.accepts == "a comma-separated list of lower-case names, or empty"
    assert LIST.accepts == "a comma-separated list of delete, compact"
    assert WORD.accepts == "a word"
    assert CHOICE.accepts == "one of on, off, or empty"
    assert DOOR.accepts == "host:port, or empty"


def test_a_secret_that_does_not_fit_is_refused_without_being_shown() -> None:
    secret = setting("text", "a", form="a word", fits=str.isalpha, secret=True)
    with pytest.raises(ValueError, match="is not shown here but must be a word"):
        secret.parse("hunter2")
