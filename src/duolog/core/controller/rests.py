"""Partitions that have just been changed, and rest before the same is done to them again. Pure but
for its memory.

A change counts from when it is seen in the image: one that could not be committed is decided anew,
at once.
"""

from collections.abc import Iterable

from duolog.core.controller.changes import Change
from duolog.core.controller.image import ClusterImage, Group, PartitionId
from duolog.model.partition_state import PartitionState

REST_MS = 30_000

Key = tuple[PartitionId, int]


class Rests:
    def __init__(self) -> None:
        self._begun: dict[Key, Change] = {}
        """Changes decided in the last round."""
        self._since_ms: dict[Key, int] = {}

    def begin(self, changes: Iterable[Change], nodes: Iterable[int] = (0,)) -> None:
        """Notes a decision; `nodes` are those of which each rests apart."""
        for change in changes:
            for node in nodes:
                self._begun[change.partition, node] = change

    def settle(self, image: ClusterImage, now_ms: int) -> None:
        """Begins the rest of what was committed since the last round, and ends what is over."""
        for key, change in self._begun.items():
            entry = image.entries.get(change.partition)
            if entry is not None and _is_made(change, entry.state):
                self._since_ms[key] = now_ms
        self._begun.clear()
        # Over, too, if the clock was set back: better early than not for a year.
        self._since_ms = {
            key: since_ms
            for key, since_ms in self._since_ms.items()
            if 0 <= now_ms - since_ms < REST_MS
        }

    def is_resting(self, part: Group, node: int = 0) -> bool:
        return any((member.id, node) in self._since_ms for member in part)


def _is_made(change: Change, present: PartitionState) -> bool:
    """True if the change was committed: the state shows it, or that leader, with a later set."""
    new = change.state
    is_led_so = (present.leader, present.leader_epoch) == (new.leader, new.leader_epoch)
    return present == new or (change.is_election and is_led_so)
