"""How far the state of a queue's partition has been read from its two logs."""

from dataclasses import dataclass
from typing import NamedTuple


class Tail(NamedTuple):
    """Amount of what comes after a snapshot."""

    messages: int = 0
    journal_bytes: int = 0
    """Bytes of journal records with changes."""

    def plus(self, other: "Tail") -> "Tail":
        return Tail(self.messages + other.messages, self.journal_bytes + other.journal_bytes)


@dataclass(slots=True)
class Progress:
    """Position of a reading between two steps, at which it can be left and gone on from.

    Messages are read up to the delivery state's own end offset.
    """

    is_loaded: bool = False
    """True once the newest snapshot, if there is one, was loaded."""
    journal_offset: int = 0
    """First journal record whose changes are not applied yet."""
    keys_offset: int = 0
    keys_end_offset: int = 0
    """Range of messages below the delivery state's end whose deduplication keys are missing."""
    scope: str = ""
    """Deduplication scope by which the keys were made."""
    knows_too_much: bool = False
    """True if the journal knew messages that are not there."""
