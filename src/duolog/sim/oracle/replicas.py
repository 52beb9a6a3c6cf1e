"""Invariants between the copies of a partition, checked from inside the nodes.

Sampled while the load runs; the copies are compared byte by byte once everything is mended.
"""

from collections.abc import Iterable, Iterator

from duolog.broker.partition import Partition
from duolog.sim.oracle.verdict import Verdict

Copies = dict[int, Partition]
"""The copies of one partition, by node."""


class ReplicaOracle:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._leaders: dict[tuple[str, int, int], tuple[int, int]] = {}
        """Per partition and epoch, the node that led and the high watermark that it had reached."""

    def look(self, number: int, partitions: Iterable[Partition]) -> None:
        """Check every partition that a node leads now.

        Followers are left out: their high watermark may fall when a damaged copy is rebuilt.
        """
        for partition in partitions:
            if partition.entry is not None and partition.is_leader:
                self._look_at_leader(number, partition)

    def _look_at_leader(self, number: int, partition: Partition) -> None:
        key = partition.topic.name, partition.index, partition.leader_epoch
        known, before = self._leaders.get(key, (number, 0))
        watermark = partition.high_watermark
        self._leaders[key] = known, watermark
        if known != number:
            self._verdict.violated(
                "one leader in each epoch", f"nodes {known} and {number} led {key}"
            )
        if watermark < before:
            self._verdict.violated(
                "high watermarks only rise", f"{before} became {watermark} for {key}"
            )

    def compare(self, copies: Copies) -> None:
        """Check that all copies are equal up to the offset that all of them know to be
        committed."""
        if len(copies) < 2:
            return
        (number, first), *others = copies.items()
        end_offset = min(partition.high_watermark for partition in copies.values())
        start_offset = max(partition.log.start_offset for partition in copies.values())
        wanted = dict(_batches(first, start_offset, end_offset))
        for other, partition in others:
            held = dict(_batches(partition, start_offset, end_offset))
            if held != wanted:
                at = min(
                    offset for offset in {*held, *wanted} if held.get(offset) != wanted.get(offset)
                )
                where = f"{partition.topic.name}-{partition.index}"
                self._verdict.violated(
                    "copies are equal", f"{where} differs on nodes {number} and {other} at {at}"
                )


def _batches(partition: Partition, offset: int, end_offset: int) -> Iterator[tuple[int, bytes]]:
    """Each batch from an offset on, as stored bytes with its offset."""
    log = partition.log
    while offset < end_offset:
        piece = log.read(offset, 1, end_offset)
        if piece is None:
            return
        yield offset, piece.file.pread(piece.length, piece.position)
        offset = piece.next_offset
