"""Where a consumer may read a partition: from its leader, or from a copy in its own rack."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.model.errors import InvalidRequest, OffsetNotAvailable

CONSUMER = -1

FOLLOWERS_FROM = 11
"""The version of Fetch from which on clients read from followers when they are told to."""


class NearerReplica(Exception):
    """A copy in the consumer's rack has what it wants: to be read from there."""

    def __init__(self, node: int) -> None:
        self.node = node


def check_consumer(request: Any) -> None:
    """Refuse who poses as a replica: those have a listener of their own."""
    if getattr(request, "replica_id", CONSUMER) >= 0:
        raise InvalidRequest("replicas copy through the listener of the other nodes")


def check_place(
    broker: Broker, partition: Partition, offset: int, *, rack: str, version: int
) -> None:
    """Refuse a read that another node should answer."""
    if not partition.is_leader:
        if version < FOLLOWERS_FROM or not partition.is_following:
            partition.check_leading()
        if offset > partition.log.end_offset:
            # Not out of range: the leader, which may have sent the reader here, has it.
            raise OffsetNotAvailable("this copy is not as far yet")
    elif rack and rack != broker.rack and version >= FOLLOWERS_FROM:
        nearer = _in_rack(broker, partition, rack, offset)
        if nearer is not None:
            raise NearerReplica(nearer)


def _in_rack(broker: Broker, partition: Partition, rack: str, offset: int) -> int | None:
    leadership = partition.leadership
    if leadership is None:
        return None
    live = broker.catalog.nodes.live
    for node in leadership.in_sync:
        if (
            node in live
            and leadership.knows(node)
            and live[node].registration.rack == rack
            and leadership.end_offset_of(node) >= offset
        ):
            return node
    return None
