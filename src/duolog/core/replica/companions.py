"""In-sync sets of companion partitions, a queue's messages and their journals. Pure.

Companions have the same replicas and the same leader. A new leader has to be in sync in all of
them, so a follower that falls behind in one leaves all, and enters only when ready in all.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from duolog.core.replica.leadership import Leadership


class Standing(NamedTuple):
    """One partition, as its leader sees it now."""

    leadership: Leadership
    end_offset: int
    high_watermark: int


def plan_in_sync(
    standings: Sequence[Standing], now_ms: int, heard_ms: Mapping[int, int]
) -> list[tuple[int, ...]]:
    """The in-sync set that each partition should have, in the order of its replicas."""
    leaving: set[int] = set()
    for each in standings:
        leaving.update(each.leadership.leaving(each.end_offset, now_ms, heard_ms))
    admissible = [
        {*each.leadership.in_sync, *each.leadership.ready(each.high_watermark, heard_ms)}
        for each in standings
    ]
    everywhere = set.intersection(*admissible) - leaving
    return [_sorted(each.leadership, everywhere, leaving) for each in standings]


def _sorted(leadership: Leadership, everywhere: set[int], leaving: set[int]) -> tuple[int, ...]:
    kept = [node for node in leadership.in_sync if node not in leaving]
    wanted = {*kept, *everywhere}
    ordered = [node for node in leadership.state.replicas if node in wanted]
    return tuple(ordered + [node for node in kept if node not in ordered])
