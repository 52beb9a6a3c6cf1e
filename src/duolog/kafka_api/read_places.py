"""Choice of the replica that serves a consumer's read: the leader, or one in the consumer's
rack."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.model.errors import InvalidRequest, OffsetNotAvailable

CONSUMER = -1

FOLLOWERS_FROM = 11
"""First version of Fetch whose clients can be sent to a follower."""


class NearerReplica(Exception):
    """Redirects a consumer to an in-sync replica in its own rack."""

    def __init__(self, node: int) -> None:
        self.node = node


def check_consumer(request: Any) -> None:
    """Refuse requests in a replica's name: replicas use the peer listener."""
    if getattr(request, "replica_id", CONSUMER) >= 0:
        raise InvalidRequest("replicas must fetch through the peer listener")


def check_place(
    broker: Broker, partition: Partition, offset: int, *, rack: str, version: int
) -> None:
    """Refuse a read that another node should answer. Raises NearerReplica or a refusal."""
    if not partition.is_leader:
        # A consumer stays with a replica that answers. One that is cut off, or has fallen behind,
        # would answer for ever that there is nothing new.
        is_current = broker.node_id in partition.in_sync and not broker.roles.is_suspended
        if version < FOLLOWERS_FROM or not partition.is_following or not is_current:
            partition.check_leading()
        if offset > partition.log.end_offset:
            # Not out of range: the leader, which may have sent the reader here, has that offset.
            raise OffsetNotAvailable("this replica has not reached that offset yet")
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
