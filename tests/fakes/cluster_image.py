"""Images of clusters for tests of what the controller decides."""

import uuid
from collections.abc import Mapping

from tests.fakes.cluster_nodes import live_node

from duolog.core.controller.image import ClusterImage, PartitionId, TopicImage
from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.log_end import LogEnd
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.model.statement import Statement

ORDERS = uuid.UUID(int=1)
JOURNAL = uuid.UUID(int=2)


def record_of(live: LiveNode) -> NodeRecord:
    """As the controller has taken it in."""
    return NodeRecord(live.id, live.registration.directory, live.draining, live.epoch)


def state(leader: int, in_sync: tuple[int, ...], **changes: object) -> PartitionState:
    values: dict[str, object] = {
        "leader": leader,
        "leader_epoch": 5,
        "replicas": (1, 2, 3),
        "in_sync": in_sync,
        "broker_epoch": 0 if leader < 0 else 1,
    }
    return PartitionState(**{**values, **changes})


def image_of(
    *states: PartitionState,
    live: tuple[LiveNode, ...] = (live_node(1), live_node(2), live_node(3)),
    records: Mapping[int, NodeRecord] | None = None,
    companion: bool = False,
    loads: Mapping[int, object] | None = None,
    ends: Mapping[int, tuple[int, int]] | None = None,
    statements: Mapping[int, Statement] | None = None,
    name: str = "orders",
    **topic: object,
) -> ClusterImage:
    """A topic with a partition for each state; with a companion, the second state is that of
    the first one's journal. `ends` are those of all partitions, by node."""
    count = 1 if companion else len(states)
    topics = {ORDERS: TopicImage(ORDERS, name, count, **topic)}
    ids = [PartitionId(ORDERS, index) for index in range(count)]
    if companion:
        topics[JOURNAL] = TopicImage(JOURNAL, "__queue.orders", 1, **topic)
        ids.append(PartitionId(JOURNAL, 0))
    if records is None:
        records = {each.id: record_of(each) for each in live}
    entries = {
        partition: PartitionEntry(of_it, 100 + number)
        for number, (partition, of_it) in enumerate(zip(ids, states, strict=True))
    }
    return ClusterImage(
        live={each.id: each for each in live},
        records=records,
        topics=topics,
        entries=entries,
        data_of={JOURNAL: ORDERS} if companion else {},
        loads=loads or {},
        log_ends={
            partition: {node: LogEnd(*end) for node, end in ends.items()}
            for partition in (ids if ends else ())
        },
        statements=statements or {},
    )
