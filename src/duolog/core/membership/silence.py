"""Decides which nodes this node cannot reach: those that it tries, and hears nothing of. Pure.

Looks come several times a second. Only time between looks counts, and little of it per look: after
a long turn of this node's own event loop, answers that are already there are not read yet.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

SILENT_MS_MAX = 2_000
"""Time without a sign of life after which a node that is being tried counts as unreachable."""

FORGOTTEN_MS = 2_000
"""Time after the last try from which a node counts as one that nobody has tried."""

LOOK_MS_MAX = 500
"""Most time that may count between two looks."""


class LinkLook(NamedTuple):
    """What one look finds on a link."""

    node: int
    heard_at: float
    """Time of the last sign of life: anything received on an open connection."""
    is_tried: bool
    """True if an answer or a connection is awaited, or an attempt has failed since the last
    look."""


@dataclass(slots=True)
class _Tried:
    heard_at: float = float("-inf")
    is_awaited: bool = False
    """True if the last look found that the node was being tried."""
    silent_ms: int = 0
    """Time for which it was tried without a sign of life."""
    untried_ms: int = 0


class Silence:
    def __init__(self) -> None:
        self._nodes: dict[int, _Tried] = {}
        self._looked_ms = 0

    def look(self, links: Iterable[LinkLook], now_ms: int) -> tuple[int, ...]:
        """The unreachable nodes, by node id."""
        passed_ms = min(now_ms - self._looked_ms, LOOK_MS_MAX)
        self._looked_ms = now_ms
        looks = _by_node(links)
        for node in [node for node in self._nodes if node not in looks]:
            del self._nodes[node]
        for node, look in looks.items():
            _note(self._nodes.setdefault(node, _Tried()), look, passed_ms)
        return tuple(
            sorted(node for node, each in self._nodes.items() if each.silent_ms >= SILENT_MS_MAX)
        )


def _by_node(links: Iterable[LinkLook]) -> Mapping[int, LinkLook]:
    """The looks at all links of a node as one: a node that answers on any is reached."""
    found: dict[int, LinkLook] = {}
    for link in links:
        known = found.get(link.node, link)
        found[link.node] = LinkLook(
            link.node, max(known.heard_at, link.heard_at), known.is_tried or link.is_tried
        )
    return found


def _note(tried: _Tried, look: LinkLook, passed_ms: int) -> None:
    if look.heard_at > tried.heard_at:
        tried.heard_at = look.heard_at
        tried.silent_ms = 0
    elif tried.is_awaited:
        tried.silent_ms += passed_ms
    tried.is_awaited = look.is_tried
    tried.untried_ms = 0 if look.is_tried else tried.untried_ms + passed_ms
    if tried.untried_ms >= FORGOTTEN_MS:
        tried.silent_ms = 0
