"""Compares the copies of partitions on nodes that are stopped, batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.harness.node import Node

from duolog.records.iterator import iter_batches

COMPACTED = "__consumer_offsets"
"""Each copy of it is compacted when its own node has the time."""
DIFFERING_SHOWN = 3

Copy = dict[int, bytes]
"""Batches by their base offset."""


def check_same_copies(nodes: Sequence[Node]) -> int:
    """All copies of all partitions are the same from where all of them begin to where the first
    of them ends. Returns how many batches were compared."""
    compared = 0
    for name in sorted({each.name for node in nodes for each in partition_directories(node)}):
        copies = {
            int(str(node.settings["node.id"])): dict(batches_of(node.data / name))
            for node in nodes
            if (node.data / name).exists()
        }
        compared += _check_same(name, copies)
    return compared


def partition_directories(node: Node) -> Iterator[Path]:
    for directory in node.data.iterdir():
        topic, _, index = directory.name.rpartition("-")
        if topic and topic != COMPACTED and index.isdecimal() and directory.is_dir():
            yield directory


def batches_of(directory: Path) -> Iterator[tuple[int, bytes]]:
    """Base offset and bytes of each batch, over all segments."""
    for segment in sorted(directory.glob("*.log")):
        for header, batch in iter_batches(segment.read_bytes()):
            yield header.base_offset, bytes(batch)


def last_offset(node: Node, topic: str, partition: int) -> int:
    """Of the copy that this node holds; -1 if there is nothing in it."""
    for segment in reversed(node.segments(topic, partition)):
        headers = [header for header, _ in iter_batches(segment.read_bytes())]
        if headers:
            return headers[-1].last_offset
    return -1


def _check_same(name: str, copies: dict[int, Copy]) -> int:
    first = max(min(copy, default=0) for copy in copies.values())
    last = min(max(copy, default=-1) for copy in copies.values())
    (one_node, one), *others = (
        (node, {at: batch for at, batch in copy.items() if first <= at <= last})
        for node, copy in copies.items()
    )
    for node, other in others:
        differing = sorted(at for at in one.keys() | other.keys() if one.get(at) != other.get(at))
        assert not differing, (
            f"{name} differs between nodes {one_node} and {node} at offsets"
            f" {list(islice(differing, DIFFERING_SHOWN))}"
        )
    return len(one)
