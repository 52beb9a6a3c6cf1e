"""What full disks mean for an in-sync set. Pure.

The controller (core/controller/full_disks.py) and each leader (broker/replication/room.py) decide
by the same rule, so that none undoes what the other has done.
"""

from collections.abc import Collection


def has_enough_room(members: Collection[int], full: Collection[int], least: int) -> bool:
    """True if the members with room are enough to acknowledge, so that the full ones can leave."""
    return sum(node not in full for node in members) >= least


def takes_messages(in_sync: Collection[int], full: Collection[int], least: int) -> bool:
    """True if a leader may take new messages, as far as the disks of its in-sync set have room.

    Members without room that can leave will. If they cannot, because the set would fall short, new
    messages would put them out of sync, and nothing at all could be committed any more.
    """
    has_full = any(node in full for node in in_sync)
    return not has_full or has_enough_room(in_sync, full, least)


def admissible_with_room(
    ready: Collection[int], in_sync: Collection[int], full: Collection[int], least: int
) -> tuple[int, ...]:
    """Replicas that may enter the set: full ones only where it is too small without them."""
    if not has_enough_room(in_sync, full, least):
        return tuple(ready)
    return tuple(node for node in ready if node not in full)
