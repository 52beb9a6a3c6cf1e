"""Declaration of one setting: its name, accepted values, and meaning.

Topic settings (topic.py), queue attributes (queue_attributes.py) and node settings (node.py) are
made of these; the reference page, `duolog config show` and the Kafka door's DescribeConfigs read
them.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from duolog.config.address import Address, parse_address

Kind = Literal["bool", "int", "long", "double", "text", "list", "address", "path"]
"""Kafka's types of configuration, and two of our own: addresses and paths are text to Kafka."""

Value = bool | int | float | str | tuple[str, ...] | Address | None

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1

Number = TypeVar("Number", int, float)

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    name: str
    kind: Kind
    default: Value
    doc: str
    """Sentences for the reference page: its effect, and the meaning of special values."""
    unit: str = ""
    least: int | float | None = None
    most: int | float | None = None
    """Largest number accepted; None for the largest that the kind holds."""
    choices: tuple[str, ...] = ()
    """Accepted values of a text, or items of a list; empty if others are accepted."""
    form: str = ""
    """Form of a text, or of each item of a list, that has no choices; completes "must be"."""
    fits: Callable[[str], bool] | None = None
    """Check that a text, or an item of a list, has that form."""
    optional: bool = False
    """True if an empty text is accepted, and means none."""
    secret: bool = False
    """True if the value is never shown to anybody."""
    field: str = ""
    """Attribute of TopicConfig or QueueConfig that holds it, if there is exactly one."""
    only: str = ""
    """Reason why no value but the default is accepted; empty if others are."""

    def __post_init__(self) -> None:
        assert self.parse(self.to_text(self.default)) == self.default, self.name

    @property
    def default_text(self) -> str:
        return self.to_text(self.default)

    @property
    def accepts(self) -> str:
        """Description of valid values, which completes "must be"."""
        if self.only:
            return f"'{self.default_text}': {self.only}"
        return f"{self._one_of()}, or empty" if self.optional else self._one_of()

    def _one_of(self) -> str:
        match self.kind:
            case "bool":
                return "true or false"
            case "int" | "long":
                return f"a whole number {self._bounds()}"
            case "double":
                return f"a number {self._bounds()}"
            case "list":
                items = f"a comma-separated list of {', '.join(self.choices) or self.form}"
                return items if self.choices else f"{items}, or empty"
            case "address":
                return "host:port"
            case "path":
                return "a path"
            case "text":
                return f"one of {', '.join(self.choices)}" if self.choices else self.form or "text"

    def parse(self, text: str) -> Value:
        """The value of a text. Raises ValueError with a description of valid values."""
        try:
            value = self._convert(text.strip())
        except ValueError:
            raise self._unfit(text) from None
        if self.only and value != self.default:
            raise self._unfit(text)
        return value

    def from_toml(self, value: object) -> Value:
        """The value of a TOML value, which has a type already; otherwise as `parse`."""
        match value:
            case bool() if self.kind == "bool":
                return self.parse("true" if value else "false")
            case bool():
                raise self._unfit(str(value).lower())
            case int() if self.kind in ("int", "long", "double"):
                return self.parse(str(value))
            case float() if self.kind == "double":
                return self.parse(repr(value))
            case str() if self.kind in ("text", "path", "address", "list"):
                return self.parse(value)
            case list() if self.kind == "list" and all(isinstance(item, str) for item in value):
                return self.parse(",".join(value))
            case str():
                raise ValueError(f'is the text "{value}" but must be {self.accepts}, unquoted')
            case _:
                raise self._unfit(str(value))

    def to_text(self, value: Value) -> str:
        """The text that `parse` turns back into this value."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple) and not isinstance(value, Address):
            return ",".join(value)
        return str(value)

    def _convert(self, text: str) -> Value:
        if self.optional and not text:
            return None
        match self.kind:
            case "bool":
                if text.lower() not in ("true", "false"):
                    raise ValueError(text)
                return text.lower() == "true"
            case "int" | "long":
                if not _WHOLE_NUMBER.match(text):
                    raise ValueError(text)
                return self._within_bounds(int(text))
            case "double":
                return self._within_bounds(float(text))
            case "list":
                return self._items(text)
            case "address":
                return parse_address(text)
            case "path":
                if not text:
                    raise ValueError(text)
                return text
            case "text":
                if not self._has_form(text):
                    raise ValueError(text)
                return text

    def _items(self, text: str) -> tuple[str, ...]:
        if not text and not self.choices:
            return ()
        items = tuple(item.strip() for item in text.split(","))
        if not all(map(self._has_form, items)) or len(set(items)) < len(items):
            raise ValueError(text)
        return items

    def _has_form(self, text: str) -> bool:
        if self.choices:
            return text in self.choices
        return self.fits is None or self.fits(text)

    def _within_bounds(self, number: Number) -> Number:
        least, most = self._range()
        # Written so that NaN, which compares false with everything, is refused, too.
        if not least <= number <= most:
            raise ValueError(number)
        return number

    def _range(self) -> tuple[int | float, int | float]:
        natural = INT_MAX if self.kind == "int" else LONG_MAX
        return (
            -natural - 1 if self.least is None else self.least,
            natural if self.most is None else self.most,
        )

    def _bounds(self) -> str:
        least, most = self._range()
        return f"of at least {least}" if self.most is None else f"from {least} to {most}"

    def _unfit(self, text: str) -> ValueError:
        shown = "not shown here" if self.secret else f"'{text}'"
        return ValueError(f"is {shown} but must be {self.accepts}")


def nearest(name: str, known: Iterable[str], *, likeness: float = 0.75) -> str | None:
    """The known name that was probably meant; of likeness 1 are only names that are the same."""
    close = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=likeness)
    return close[0] if close else None
