"""Events for operators: what the controller did, and why."""

from collections.abc import Sequence

import msgspec

from duolog.model.partition_state import PartitionState


class Event(msgspec.Struct, frozen=True):
    time_ms: int
    kind: str
    """Short name of what happened, from a fixed set: `leader moved`, `node lost`."""
    subject: str
    """Node or partition concerned: `node 3`, `orders-7`."""
    text: str
    """One sentence: why, and what an operator should do if anything."""


def why_nobody(state: PartitionState) -> str:
    """The sentences that say why nobody leads the partition, and what ends that."""
    if state.in_sync or state.eligible:
        waited_for = dict.fromkeys((*state.in_sync, *state.eligible))
        return f"No replica can lead before one of these returns: {text_of(tuple(waited_for))}."
    text = "No replica can lead: none is known to have everything."
    if state.incomplete:
        text += f" Records are missing or doubtful on {text_of(state.incomplete)}."
    return f"{text} An unclean election continues with the longest log that is left."


def text_of(nodes: Sequence[int]) -> str:
    """The nodes as words of a sentence."""
    return "node " + ", ".join(map(str, nodes)) if nodes else "none"
