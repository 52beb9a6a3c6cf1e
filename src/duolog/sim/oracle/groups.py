"""Committed offsets of a consumer group, which must never go back."""

import asyncio
from collections.abc import Mapping

from duolog.sim.oracle.verdict import Verdict


class GroupOracle:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.committed: dict[int, tuple[int, int]] = {}
        """Per partition the largest offset whose commit was acknowledged or seen, and when."""
        self._wanted: Mapping[int, int] | None = None
        self._reached = asyncio.Event()

    def acknowledged(self, partition: int, offset: int, at_ns: int) -> None:
        if offset > self.committed.get(partition, (-1, 0))[0]:
            self.committed[partition] = (offset, at_ns)
            self._check_wanted()

    async def until_committed(self, wanted: Mapping[int, int]) -> None:
        """Wait until the group has committed these offsets, or later ones."""
        self._wanted = wanted
        self._check_wanted()
        await self._reached.wait()

    def _check_wanted(self) -> None:
        wanted = self._wanted
        if wanted is not None and all(
            self.committed.get(each, (0, 0))[0] >= offset for each, offset in wanted.items()
        ):
            self._reached.set()

    def fetched(self, partition: int, offset: int, asked_ns: int, at_ns: int) -> None:
        """Check the answer to an OffsetFetch against commits acknowledged before it was asked
        for."""
        known, known_ns = self.committed.get(partition, (-1, 0))
        if known_ns < asked_ns and offset < known:
            self._verdict.violated(
                "committed offsets never go back",
                f"partition {partition} was committed at {known}, is at {offset}",
            )
        # The commit may have succeeded although its answer was lost.
        self.acknowledged(partition, offset, at_ns)
