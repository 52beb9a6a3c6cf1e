"""Samples the nodes' partitions during the load, and compares all copies at the end."""

import asyncio

from duolog.sim.cluster import Cluster
from duolog.sim.oracle.replicas import Copies, ReplicaOracle
from duolog.sim.oracle.states import StateOracle
from duolog.sim.oracle.verdict import Verdict

LOOK_SECONDS = 0.2
ALIKE_SECONDS_MAX = 60.0
"""Longest time that copies may take to become equal once everything is mended."""


class Watch:
    def __init__(self, cluster: Cluster, verdict: Verdict) -> None:
        self._cluster = cluster
        self._verdict = verdict
        self._replicas = ReplicaOracle(verdict)
        self.states = StateOracle(verdict)
        cluster.store.observers.append(self.states)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for number in self._cluster.numbers:
                self._replicas.look(number, self._cluster.partitions(number))

    async def until_in_sync(self) -> None:
        """Wait until every partition is led and all its replicas are in sync."""
        waited = 0.0
        while self.states.incomplete:
            await asyncio.sleep(LOOK_SECONDS)
            waited += LOOK_SECONDS
            if waited > ALIKE_SECONDS_MAX:
                names = ", ".join(self.states.incomplete)
                self._verdict.violated("progress", f"not in sync: {names}")
                return

    async def finish(self, damaged: int | None) -> None:
        """Wait until every copy is complete, then compare them.

        The copies of a node whose disk has flipped bits are left out: not every stored byte is
        under a checksum.
        """
        waited = 0.0
        while not all(map(_is_whole, self._copies().values())):
            await asyncio.sleep(LOOK_SECONDS)
            waited += LOOK_SECONDS
            if waited > ALIKE_SECONDS_MAX:
                self._verdict.violated("progress", "copies are not equal: " + self._unlike())
                return
        for copies in self._copies().values():
            self._replicas.compare({at: copy for at, copy in copies.items() if at != damaged})

    def _copies(self) -> dict[tuple[str, int], Copies]:
        found: dict[tuple[str, int], Copies] = {}
        for number in self._cluster.numbers:
            for partition in self._cluster.partitions(number):
                copies = found.setdefault((partition.topic.name, partition.index), {})
                copies[number] = partition
        return found

    def _unlike(self) -> str:
        return ", ".join(
            f"{name}-{index} ends at "
            + "/".join(f"{each.high_watermark}:{each.log.end_offset}" for each in copies.values())
            for (name, index), copies in self._copies().items()
            if not _is_whole(copies)
        )


def _is_whole(copies: Copies) -> bool:
    """True if all copies end at the same offset and have committed all of it."""
    ends = {copy.log.end_offset for copy in copies.values()}
    return len(ends) == 1 and {copy.high_watermark for copy in copies.values()} == ends
