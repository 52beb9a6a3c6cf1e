"""Finds where a follower's log diverges from its leader's. Pure.

Only leader epochs can tell. A high watermark cannot: it reaches a follower later than the records
do, so truncating there would lose acknowledged records.
"""

from typing import NamedTuple, Protocol

NO_EPOCH = -1


class Epochs(Protocol):
    """Leader epochs of one log and where they begin (log/epochs.py)."""

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The latest epoch up to the given one, and where it ended; (-1, -1) if unknown."""
        ...


class Divergence(NamedTuple):
    """Leader's knowledge of the epoch with which the follower's log ends."""

    epoch: int
    """Latest of the leader's epochs up to the follower's last one."""
    end_offset: int
    """Offset at which that epoch ended in the leader's log."""


def divergence(
    leader: Epochs, leader_end_offset: int, last_epoch: int, fetch_offset: int
) -> Divergence | None:
    """Divergence of a follower's log that ends with `last_epoch` at `fetch_offset`.

    Computed by the leader. None if the follower's log is a prefix of the leader's.
    """
    if last_epoch == NO_EPOCH:
        # It holds no records, so nothing can differ.
        return None
    epoch, end_offset = leader.end_offset_for(last_epoch, leader_end_offset)
    if epoch == last_epoch and fetch_offset <= end_offset:
        return None
    return Divergence(epoch, end_offset)


def cut_offset(follower: Epochs, follower_end_offset: int, found: Divergence) -> int:
    """Offset at which the follower must truncate before it asks again.

    Never below the last offset that both logs share. It may still be above: each answer rules out
    at least one epoch, so that repeating ends where the logs agree.
    """
    epoch, end_offset = follower.end_offset_for(found.epoch, follower_end_offset)
    if epoch == NO_EPOCH:
        end_offset = follower_end_offset
    return min(end_offset, found.end_offset, follower_end_offset)
