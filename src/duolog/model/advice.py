"""What the load of a cluster suggests to do: a file that one program makes and another takes."""

from typing import Literal

import msgspec

VERSION: Literal[1] = 1


class AddPartitions(msgspec.Struct, frozen=True, tag="add_partitions", forbid_unknown_fields=True):
    topic: str
    partitions: int
    """As many as it should have then."""
    reason: str = ""


class MovePartition(msgspec.Struct, frozen=True, tag="move_partition", forbid_unknown_fields=True):
    topic: str
    partition: int
    replicas: list[int]
    """The nodes that should have a copy then; the first one leads where it can."""
    reason: str = ""


Action = AddPartitions | MovePartition


class Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    made_ms: int
    actions: list[Action] = []


def encode_advice(advice: Advice) -> bytes:
    return msgspec.json.format(msgspec.json.encode(advice), indent=2) + b"\n"


def decode_advice(data: bytes) -> Advice:
    """ValueError, which says where, for anything else."""
    return msgspec.json.decode(data, type=Advice)
