"""Promises of a topic: compares what producers were told with what readers see.

An acknowledged batch stays for good, once, at the offset that the producer was told. One without
acknowledgement is there once or not at all. Once a reader has seen a record at an offset, every
reader sees it there.
"""

from collections.abc import Sequence

from duolog.sim.oracle.verdict import Verdict

TopicPartition = tuple[str, int]


class _Partition:
    def __init__(self) -> None:
        self.attempted: dict[str, tuple[str, int]] = {}
        """Each record's producer, and its number among that producer's records in this
        partition."""
        self.acknowledged: dict[str, int] = {}
        """Offset of each acknowledged record."""
        self.seen: dict[int, str] = {}
        """Record that readers saw at each offset."""
        self.counts: dict[str, int] = {}


class TopicOracle:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._partitions: dict[TopicPartition, _Partition] = {}

    def _of(self, topic: str, partition: int) -> _Partition:
        return self._partitions.setdefault((topic, partition), _Partition())

    @property
    def partitions(self) -> list[TopicPartition]:
        return list(self._partitions)

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each.acknowledged) for each in self._partitions.values())

    def attempted(self, topic: str, partition: int, producer: str, ids: Sequence[str]) -> None:
        known = self._of(topic, partition)
        for each in ids:
            count = known.counts[producer] = known.counts.get(producer, 0) + 1
            known.attempted[each] = (producer, count)

    def acknowledged(self, topic: str, partition: int, offset: int, ids: Sequence[str]) -> None:
        known = self._of(topic, partition)
        for number, each in enumerate(ids):
            known.acknowledged[each] = offset + number
            self._check_seen(topic, partition, offset + number, each)

    def refused(self, topic: str, partition: int, producer: str, error: str) -> None:
        self._verdict.violated(
            "producer state", f"{producer} was told {error} in {topic}-{partition}"
        )

    def missing(self, topic: str, partition: int, offset: int, node: int) -> None:
        self._verdict.violated(
            "committed records stay",
            f"{topic}-{partition} on node {node} has lost offset {offset}, which a reader had"
            " reached",
        )

    def end_offset(self, topic: str, partition: int) -> int:
        """Offset after the last acknowledged record."""
        return 1 + max(self._of(topic, partition).acknowledged.values(), default=-1)

    def read(
        self,
        topic: str,
        partition: int,
        offset: int,
        records: Sequence[tuple[int, str]],
        high_watermark: int,
    ) -> None:
        for at, value in records:
            if at >= high_watermark:
                self._verdict.violated(
                    "high watermark",
                    f"{topic}-{partition} served offset {at}, its watermark is {high_watermark}",
                )
            self._check_seen(topic, partition, at, value)

    def _check_seen(self, topic: str, partition: int, offset: int, value: str) -> None:
        seen = self._of(topic, partition).seen
        if seen.setdefault(offset, value) != value:
            self._verdict.violated(
                "committed records stay",
                f"{topic}-{partition} at {offset} was {seen[offset]} and is {value}",
            )

    def finish(self, topic: str, partition: int, content: Sequence[tuple[int, str]]) -> None:
        """Compare with the whole partition, read once everything is mended."""
        known, where = self._of(topic, partition), f"{topic}-{partition}"
        places: dict[str, int] = {}
        last: dict[str, int] = {}
        for offset, value in content:
            self._check_seen(topic, partition, offset, value)
            if value in places:
                self._verdict.violated(
                    "no duplicates", f"{where} has {value} at {places[value]} and at {offset}"
                )
                continue
            places[value] = offset
            if value not in known.attempted:
                self._verdict.violated("no inventions", f"{where} has {value} at {offset}")
                continue
            producer, count = known.attempted[value]
            if count <= last.get(producer, 0):
                self._verdict.violated("order", f"{where} has {value} after a later one")
            last[producer] = count
        for value, offset in known.acknowledged.items():
            if places.get(value) != offset:
                self._verdict.violated(
                    "nothing acknowledged is lost",
                    f"{where} should have {value} at {offset}, has it at {places.get(value)}",
                )
