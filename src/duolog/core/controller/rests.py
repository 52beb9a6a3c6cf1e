"""Partitions that have just got another leader, and rest before they are moved again. Pure but for
its memory.

A link that flaps must not drive leaders about. A move counts from when the image shows it: one that
could not be committed is decided anew, at once.
"""

from collections.abc import Iterable

from duolog.core.controller.changes import Change
from duolog.core.controller.image import ClusterImage, Group, PartitionId
from duolog.model.partition_state import PartitionState

REST_MS = 30_000


class Rests:
    def __init__(self) -> None:
        self._begun: list[Change] = []
        """Changes decided in the last round."""
        self._since_ms: dict[PartitionId, int] = {}

    def begin(self, changes: Iterable[Change]) -> None:
        self._begun.extend(changes)

    def settle(self, image: ClusterImage, now_ms: int) -> None:
        """Begins the rest of what was committed since the last round, and ends what is over."""
        for change in self._begun:
            entry = image.entries.get(change.partition)
            if entry is not None and _is_made(change, entry.state):
                self._since_ms[change.partition] = now_ms
        self._begun.clear()
        # Over, too, if the clock was set back: better early than not for a year.
        self._since_ms = {
            partition: since_ms
            for partition, since_ms in self._since_ms.items()
            if 0 <= now_ms - since_ms < REST_MS
        }

    @property
    def ends_ms(self) -> list[int]:
        """When the rests end that have begun."""
        return [since_ms + REST_MS for since_ms in self._since_ms.values()]

    def is_resting(self, part: Group) -> bool:
        return any(member.id in self._since_ms for member in part)


def _is_made(election: Change, present: PartitionState) -> bool:
    """True if the election was committed, whatever has become of the in-sync set since."""
    new = election.state
    return (present.leader, present.leader_epoch) == (new.leader, new.leader_epoch)
