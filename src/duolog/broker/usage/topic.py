"""The internal topic of usage lines, wherever its partitions are led."""

import contextlib
from struct import Struct

from duolog.broker.broker import Broker
from duolog.model.errors import InvalidRequest, TopicExists
from duolog.model.names import USAGE_TOPIC
from duolog.ports.peers import Peers
from duolog.wire.peer.kinds import PeerKind

RETENTION_MS = 30 * 24 * 3_600_000
BATCH_BYTES_MAX = 16 << 20
"""Above what all lines of an interval can take."""
REPLICAS_IN_SYNC_MIN = 2
APPEND_MS_MAX = 30_000
"""How long another node may take to answer; what it answers then is asked for again."""

_INDEX = Struct(">i")


class UsageTopic:
    def __init__(self, broker: Broker, peers: Peers | None, partitions: int) -> None:
        """Without `peers` the node is alone. `partitions`: if it has to be made."""
        self._broker = broker
        self._peers = peers
        self._partitions = partitions

    async def partition_of(self, node: int) -> int:
        """To which a node writes; the topic is there then."""
        catalog = self._broker.catalog
        if USAGE_TOPIC not in catalog.topics:
            overrides = {
                "cleanup.policy": "delete",
                "durability": "fsync",
                "max.message.bytes": str(BATCH_BYTES_MAX),
                # With several replicas, what is billed is on two disks, whatever the default.
                "min.insync.replicas": str(REPLICAS_IN_SYNC_MIN),
                "retention.bytes": "-1",
                "retention.ms": str(RETENTION_MS),
            }
            with contextlib.suppress(TopicExists):
                await catalog.create_topic(USAGE_TOPIC, self._partitions, overrides)
        return node % catalog.get(USAGE_TOPIC).partitions

    async def append(self, index: int, batch: bytearray) -> None:
        """Returns once it is committed. A Refusal, or PeerUnreachable, may leave that open; the
        same batch is recognised when it comes again."""
        leader = self._broker.catalog.leader_of(USAGE_TOPIC, index)
        if leader is None or leader == self._broker.node_id or self._peers is None:
            await append_here(self._broker, index, batch)
        else:
            body = _INDEX.pack(index) + batch
            await self._peers.call(leader, PeerKind.USAGE_APPEND, body, timeout_ms=APPEND_MS_MAX)


async def append_here(broker: Broker, index: int, batch: bytearray) -> None:
    """By the partition's leader."""
    partition = broker.led_partition(USAGE_TOPIC, index)
    partition.check_in_sync()
    await partition.append(batch)


async def append_asked(broker: Broker, body: memoryview) -> None:
    """As another node asks for it."""
    if len(body) < _INDEX.size:
        raise InvalidRequest("no partition is named")
    (index,) = _INDEX.unpack_from(body)
    await append_here(broker, index, bytearray(body[_INDEX.size :]))
