"""Thinning: rewrites a segment in which few records are still wanted to hold only those.

A log is contiguous from its start offset on, so one old record retains everything after it. A
queue, which knows which of its messages are done, has such segments rewritten. The same three steps
as compaction: `Thinner.plan`, `ThinningPlan.build` which may be offloaded, and `Log.swap`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from duolog.log.offset_filter import KeptOffsets, OffsetFilter
from duolog.log.rewriting import Neighbours, Rewriter, Rewritten
from duolog.log.segment import Segment

KeptRanges = Callable[[int, int], Iterable[tuple[int, int]]]
"""Returns the wanted offsets within a segment's bounds, as ascending half-open ranges. It is read
only as far as needed, and offsets outside the bounds are ignored."""

THINNED_BYTES_MIN = 1 << 20
"""Size below which a segment is not worth rewriting by itself; small neighbours are merged."""

KEPT_PARTS_MIN = 4
"""Divisor: a segment is rewritten if at most one in so many of its records is still wanted."""

SEGMENTS_MAX = 64
"""Limit of segments in one plan."""

GROUPS_MAX = 8
"""Limit of groups in one plan: each is a swap, which syncs the directory on the event loop."""

KEPT_RANGES_MAX = 100_000
"""Limit of ranges in one plan, which lists them on the event loop. A segment that alone has more is
not rewritten."""


@dataclass(frozen=True, slots=True)
class ThinningPlan:
    rewriter: Rewriter
    groups: tuple[Neighbours, ...]
    kept: KeptOffsets
    kept_counts: Mapping[tuple[int, int], int]
    """Number of kept offsets of each group, by its bounds."""

    def build(self) -> Rewritten:
        """Writes the thinned segments, durably; touches nothing that the log's owner does."""
        groups = self.rewriter.rewrite(self.groups, OffsetFilter(self.kept))
        return Rewritten(groups, self.rewriter.cuts, kept_counts=self.kept_counts)

    def holds(self, kept_ranges: KeptRanges) -> bool:
        """True if nothing that the plan drops has become wanted since."""
        return all(
            self.kept.covers(first, next_offset)
            for group in self.groups
            for first, next_offset in _clipped(
                kept_ranges, group[0].base_offset, group[-1].end_offset
            )
        )


class Thinner:
    """Plans for one log: takes its segments in turn, and remembers those with nothing to gain."""

    __slots__ = ("_counts", "_cuts", "_resume_offset")

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}
        """Number of offsets kept at a segment's last rewrite, by its bounds."""
        self._cuts = 0
        self._resume_offset = 0
        """Offset at which to continue, because the last plan was full."""

    def plan(
        self,
        rewriter: Rewriter,
        sealed: Sequence[Segment],
        kept_ranges: KeptRanges,
        *,
        bytes_min: int = THINNED_BYTES_MIN,
    ) -> ThinningPlan | None:
        """Plan over sealed, durable segments; None if there is too little to gain."""
        self._forget_gone(sealed, rewriter.cuts)
        kept = KeptOffsets()
        candidates: dict[Segment, int] = {}
        listed = 0
        resume_offset, self._resume_offset = self._resume_offset, 0
        for segment in sealed:
            if segment.end_offset <= resume_offset or segment.damage:
                continue
            if len(candidates) >= SEGMENTS_MAX or listed >= KEPT_RANGES_MAX:
                self._resume_offset = segment.base_offset
                break
            most = self._kept_max(segment, bytes_min)
            wanted = _list_wanted(segment, kept_ranges, most)
            listed += len(wanted)
            if wanted.count <= most and len(wanted) <= KEPT_RANGES_MAX:
                candidates[segment] = wanted.count
                kept.extend(wanted)
        groups = tuple(
            group
            for group in rewriter.neighbours(candidates)
            if len(group) > 1 or group[0].size >= bytes_min
        )
        if not groups:
            return None
        if len(groups) > GROUPS_MAX:
            self._resume_offset = groups[GROUPS_MAX][0].base_offset
            groups = groups[:GROUPS_MAX]
        kept_counts = {
            (group[0].base_offset, group[-1].end_offset): sum(candidates[each] for each in group)
            for group in groups
        }
        return ThinningPlan(rewriter, groups, kept, kept_counts)

    def note(self, result: Rewritten) -> None:
        """Notes a result that is in place, or that would have changed nothing."""
        self._counts.update(result.kept_counts)

    def _kept_max(self, segment: Segment, bytes_min: int) -> int:
        """Limit of wanted offsets up to which the segment is rewritten; -1 for never."""
        base, end = segment.base_offset, segment.end_offset
        if segment.size < bytes_min:
            return end - base
        count = self._counts.get((base, end), end - base)
        return min(count // KEPT_PARTS_MIN, count - 1)

    def _forget_gone(self, sealed: Sequence[Segment], cuts: int) -> None:
        """Forgets the counts of segments that no longer exist."""
        present = {(each.base_offset, each.end_offset) for each in sealed}
        known = {} if cuts != self._cuts else self._counts
        self._counts = {bounds: count for bounds, count in known.items() if bounds in present}
        self._cuts = cuts


def _list_wanted(segment: Segment, kept_ranges: KeptRanges, most: int) -> KeptOffsets:
    """Wanted offsets of the segment; stops once there are more than `most`."""
    wanted = KeptOffsets()
    if most >= 0:
        for first, next_offset in _clipped(kept_ranges, segment.base_offset, segment.end_offset):
            wanted.append(first, next_offset)
            if wanted.count > most or len(wanted) > KEPT_RANGES_MAX:
                break
    return wanted


def _clipped(kept_ranges: KeptRanges, base: int, end: int) -> Iterator[tuple[int, int]]:
    for first, next_offset in kept_ranges(base, end):
        if first >= end:
            return
        if next_offset > base:
            yield max(first, base), min(next_offset, end)
