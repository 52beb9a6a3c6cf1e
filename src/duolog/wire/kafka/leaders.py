"""Tagged fields with a partition's current leader, shared by Produce and Fetch responses."""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from duolog.wire.kafka.primitives import (
    INT32,
    NO_TAGS,
    compact_string,
    tag_section,
    tagged,
    uvarint,
)

NODE_ENDPOINTS_TAG = 0

_LEADER = Struct(">iix")


class NodeEndpoint(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def encode_leader(leader_id: int, leader_epoch: int) -> bytes:
    return _LEADER.pack(leader_id, leader_epoch)


def encode_endpoint_tags(endpoints: Sequence[NodeEndpoint]) -> bytes:
    """The tagged fields that end a response: none, or the endpoints of the leaders it names."""
    if not endpoints:
        return NO_TAGS
    parts = [uvarint(len(endpoints) + 1)]
    for node_id, host, port, rack in endpoints:
        parts += (INT32.pack(node_id), compact_string(host), INT32.pack(port))
        parts += (compact_string(rack), NO_TAGS)
    return tag_section([tagged(NODE_ENDPOINTS_TAG, b"".join(parts))])
