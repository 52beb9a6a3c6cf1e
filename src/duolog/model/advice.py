"""Advice file: changes that a cluster's load suggests, written by one program for another."""

from typing import Literal

import msgspec

VERSION: Literal[1] = 1


class AddPartitions(msgspec.Struct, frozen=True, tag="add_partitions", forbid_unknown_fields=True):
    topic: str
    partitions: int
    """Number of partitions that it should have."""
    reason: str = ""


class MovePartition(msgspec.Struct, frozen=True, tag="move_partition", forbid_unknown_fields=True):
    topic: str
    partition: int
    replicas: list[int]
    """Nodes that should have a copy; the first one leads if it can."""
    reason: str = ""


Action = AddPartitions | MovePartition


class Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    made_ms: int
    actions: list[Action] = []


def encode_advice(advice: Advice) -> bytes:
    return msgspec.json.format(msgspec.json.encode(advice), indent=2) + b"\n"


def decode_advice(data: bytes) -> Advice:
    """Decodes an advice file; raises ValueError, which says where, for anything else."""
    return msgspec.json.decode(data, type=Advice)
