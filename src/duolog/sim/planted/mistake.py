"""What a planted mistake is: functions of the product, and what takes their places."""

from typing import Any, NamedTuple


class Replacement(NamedTuple):
    owner: Any
    """A class or a module."""
    name: str
    mistaken: Any


class Mistake(NamedTuple):
    rule: str
    """The rule that is taken out, as a sentence."""
    replacements: tuple[Replacement, ...]
    loads: tuple[str, ...]
    """What notices it."""
    faults: tuple[str, ...]
    """What brings it to light soon; any, if none is named."""


def mistake(
    rule: str,
    *replaced: tuple[Any, str, Any],
    loads: tuple[str, ...] = ("topics",),
    faults: tuple[str, ...] = (),
) -> Mistake:
    return Mistake(rule, tuple(Replacement(*each) for each in replaced), loads, faults)
