"""In-sync sets of companion partitions, a queue's messages and their journals. Pure.

Companions have the same replicas and the same leader. A new leader has to be in sync in all of
them, so a follower that falls behind in one leaves all, and enters only when ready in all.

A follower on a full disk neither enters nor leaves as others do. It enters only a set that is too
small without it. It falls behind by what it was sent before its leader knew; where the set would be
too small without it, it stays: what it lacks waits, and what it has room for, its journals, can
still be committed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from duolog.core.replica.leadership import Leadership
from duolog.core.replica.room import admissible_with_room, has_enough_room


class Standing(NamedTuple):
    """One partition, as its leader sees it now."""

    leadership: Leadership
    end_offset: int
    high_watermark: int


def plan_in_sync(
    standings: Sequence[Standing],
    now_ms: int,
    heard_ms: Mapping[int, int],
    full: Collection[int] = (),
) -> list[tuple[int, ...]]:
    """The in-sync set that each partition should have, in the order of its replicas.

    `full` are the nodes whose disks have no room for new records.
    """
    leaving: set[int] = set()
    for each in standings:
        leaving.update(each.leadership.leaving(each.end_offset, now_ms, heard_ms))
    leaving.difference_update(_needed(standings, leaving, full))
    admissible = [
        {*each.leadership.in_sync, *_entering(each, heard_ms, full)} for each in standings
    ]
    everywhere = set.intersection(*admissible) - leaving
    return [_sorted(each.leadership, everywhere, leaving) for each in standings]


def _needed(
    standings: Sequence[Standing], leaving: Collection[int], full: Collection[int]
) -> list[int]:
    """Members on full disks that are behind, and without which a set would be too small."""
    if not any(node in full for node in leaving):
        return []
    is_enough = all(
        has_enough_room(each.leadership.in_sync, leaving, each.leadership.min_in_sync)
        for each in standings
    )
    if is_enough:
        return []
    return [
        node
        for node in leaving
        if node in full
        and not any(
            each.leadership.knows(node) and each.leadership.has_fallen_back(node)
            for each in standings
        )
    ]


def _entering(
    standing: Standing, heard_ms: Mapping[int, int], full: Collection[int]
) -> tuple[int, ...]:
    leadership = standing.leadership
    ready = leadership.ready(standing.high_watermark, heard_ms)
    return admissible_with_room(ready, leadership.in_sync, full, leadership.min_in_sync)


def _sorted(leadership: Leadership, everywhere: set[int], leaving: set[int]) -> tuple[int, ...]:
    kept = [node for node in leadership.in_sync if node not in leaving]
    wanted = {*kept, *everywhere}
    ordered = [node for node in leadership.state.replicas if node in wanted]
    return tuple(ordered + [node for node in kept if node not in ordered])
