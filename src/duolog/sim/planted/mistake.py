"""A planted mistake: functions of the product, and the faulty ones that replace them."""

from typing import Any, NamedTuple


class Replacement(NamedTuple):
    owner: Any
    """Class or module that the function belongs to."""
    name: str
    mistaken: Any


class Mistake(NamedTuple):
    rule: str
    """The rule that is removed, as a sentence."""
    replacements: tuple[Replacement, ...]
    loads: tuple[str, ...]
    """Loads under which the oracle notices it."""
    faults: tuple[str, ...]
    """Kinds of faults that reveal it soon; all kinds, if none is named."""


def mistake(
    rule: str,
    *replaced: tuple[Any, str, Any],
    loads: tuple[str, ...] = ("topics",),
    faults: tuple[str, ...] = (),
) -> Mistake:
    return Mistake(rule, tuple(Replacement(*each) for each in replaced), loads, faults)
