"""The internal topic of usage lines: appends here, or at the partition's leader."""

import contextlib
from struct import Struct

from duolog.broker.broker import Broker
from duolog.model.errors import InvalidRequest, TopicExists
from duolog.model.names import USAGE_TOPIC
from duolog.ports.peers import Peers
from duolog.wire.peer.kinds import PeerKind

RETENTION_MS = 30 * 24 * 3_600_000
BATCH_BYTES_MAX = 16 << 20
"""Maximum batch size, larger than all lines of an interval."""
REPLICAS_IN_SYNC_MIN = 2
APPEND_MS_MAX = 30_000
"""Time-out of an append at another node, after which it is sent again."""

_INDEX = Struct(">i")


class UsageTopic:
    def __init__(self, broker: Broker, peers: Peers | None, partitions: int) -> None:
        """Takes no `peers` on a sole node; `partitions` is the topic's count if created here."""
        self._broker = broker
        self._peers = peers
        self._partitions = partitions

    async def partition_of(self, node: int) -> int:
        """Index of the partition that a node writes to; creates the topic if it is missing."""
        catalog = self._broker.catalog
        if USAGE_TOPIC not in catalog.topics:
            overrides = {
                "cleanup.policy": "delete",
                "durability": "fsync",
                "max.message.bytes": str(BATCH_BYTES_MAX),
                # Set here, whatever the default, so that billed usage is on two disks if there
                # are several replicas.
                "min.insync.replicas": str(REPLICAS_IN_SYNC_MIN),
                "retention.bytes": "-1",
                "retention.ms": str(RETENTION_MS),
            }
            with contextlib.suppress(TopicExists):
                await catalog.create_topic(USAGE_TOPIC, self._partitions, overrides)
        return node % catalog.get(USAGE_TOPIC).partitions

    async def append(self, index: int, batch: bytearray) -> None:
        """Appends a batch; returns once it is committed. After a Refusal or PeerUnreachable the
        outcome may be unknown; the batch is recognised when it is sent again."""
        leader = self._broker.catalog.leader_of(USAGE_TOPIC, index)
        if leader is None or leader == self._broker.node_id or self._peers is None:
            await append_here(self._broker, index, batch)
        else:
            body = _INDEX.pack(index) + batch
            await self._peers.call(leader, PeerKind.USAGE_APPEND, body, timeout_ms=APPEND_MS_MAX)


async def append_here(broker: Broker, index: int, batch: bytearray) -> None:
    """Appends a batch to a partition that this node leads."""
    partition = broker.led_partition(USAGE_TOPIC, index)
    partition.check_in_sync()
    await partition.append(batch)


async def append_asked(broker: Broker, body: memoryview) -> None:
    """Serves another node's append request."""
    if len(body) < _INDEX.size:
        raise InvalidRequest("the request has no partition")
    (index,) = _INDEX.unpack_from(body)
    await append_here(broker, index, bytearray(body[_INDEX.size :]))
