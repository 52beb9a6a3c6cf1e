"""Placement of new partitions: their replicas and initial states.

An initial state comes with conditions: the chosen nodes' registrations are unchanged, or, for a
companion, the partition beside it is. The transaction that writes the state compares them, so
no partition begins on a node whose death the controller has already handled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from duolog.broker.catalog_entries import Topic, partition_key
from duolog.broker.catalog_view import CatalogView
from duolog.broker.cluster_nodes import ClusterNodes, live_brokers
from duolog.broker.membership.entries import broker_key
from duolog.config.topic import TopicConfig
from duolog.core.controller.placement import place
from duolog.core.membership.statements import Statements
from duolog.model.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    UnknownTopicOrPartition,
)
from duolog.model.partition_state import NO_EPOCH, PartitionEntry, PartitionState
from duolog.ports.metastore import Compare

FIRST_LEADER_EPOCH = 0

Assignment = Mapping[int, Sequence[int]]
"""Partition index → replicas, chosen by an operator."""

_STARTS = 1 << 16
"""Number of start positions for spreading a topic's partitions, chosen by its id."""


@dataclass(frozen=True, slots=True)
class Beginning:
    state: PartitionState
    conditions: tuple[Compare, ...]
    """Comparisons that the transaction writing the state must include."""


class Placement:
    def __init__(self, nodes: ClusterNodes, view: CatalogView, default_factor: int) -> None:
        self._nodes = nodes
        self._view = view
        self._default_factor = default_factor

    def begin(
        self, topic: Topic, indexes: range, factor: int | None, assignment: Assignment | None
    ) -> dict[int, Beginning]:
        """Chooses replicas and builds the initial states of these partitions, or refuses."""
        if topic.beside is not None:
            begun = [self._begin_beside(topic, index) for index in indexes]
        else:
            replicas = (
                self._spread(topic, indexes, factor)
                if assignment is None
                else self._assigned(topic, indexes, assignment)
            )
            begun = [self._begin(each, topic.config) for each in replicas]
        return dict(zip(indexes, begun, strict=True))

    def _spread(self, topic: Topic, indexes: range, factor: int | None) -> list[tuple[int, ...]]:
        """Spreads the partitions over the live brokers. If no factor is given, a topic that grows
        uses that of its first partition, a new one the default as far as there are brokers."""
        brokers = live_brokers(self._nodes)
        if factor is None:
            factor = self._present_factor(topic) if indexes.start > 0 else self.usual_factor()
        # Topics start at different nodes; a topic that grows continues where it ended.
        start = topic.id.int % _STARTS + indexes.start
        said = Statements(self._nodes.live, self._nodes.statements)
        return place(
            len(indexes),
            factor,
            brokers,
            self._view.replica_counts,
            start=start,
            avoided=[node.id for node in brokers if said.doubters(node.id)],
        )

    def usual_factor(self) -> int:
        """Replication factor by default: the configured one, at most the number of brokers."""
        return max(1, min(self._default_factor, len(live_brokers(self._nodes))))

    def later_factor(self) -> int | None:
        """The configured factor if there are too few brokers for it now; else None."""
        return self._default_factor if self._default_factor > self.usual_factor() else None

    def _present_factor(self, topic: Topic) -> int:
        first = self._entry(topic, 0).state
        return len(first.replicas) - len(first.removing)

    def _assigned(
        self, topic: Topic, indexes: range, assignment: Assignment
    ) -> list[tuple[int, ...]]:
        if sorted(assignment) != list(indexes):
            raise InvalidReplicaAssignment(
                f"partitions {indexes.start} to {indexes.stop - 1} must be assigned, each once"
            )
        checked = [self.check_replicas(assignment[index]) for index in indexes]
        factors = {len(replicas) for replicas in checked}
        if indexes.start > 0:
            factors.add(self._present_factor(topic))
        if len(factors) > 1:
            raise InvalidReplicaAssignment("all partitions must have the same number of replicas")
        return checked

    def check_replicas(self, replicas: Iterable[int]) -> tuple[int, ...]:
        """Returns the replicas; raises unless they are distinct live brokers, at least one."""
        chosen = tuple(replicas)
        if not chosen:
            raise InvalidReplicaAssignment("a partition needs at least one replica")
        if len(set(chosen)) < len(chosen):
            raise InvalidReplicaAssignment(f"{list(chosen)} names a broker twice")
        alive = {node.id for node in live_brokers(self._nodes)}
        for node in chosen:
            if node not in alive:
                raise InvalidReplicaAssignment(f"there is no live broker {node}")
        return chosen

    def _begin(self, replicas: tuple[int, ...], config: TopicConfig) -> Beginning:
        """Begins with all synchronous replicas in sync, since the log is empty."""
        synchronous = len(replicas) - config.async_replicas
        if synchronous < 1:
            raise InvalidConfig(
                f"async.replicas is {config.async_replicas}, but of {len(replicas)} replicas at"
                " least one must be synchronous"
            )
        live = self._nodes.live
        state = PartitionState(
            leader=replicas[0],
            leader_epoch=FIRST_LEADER_EPOCH,
            replicas=replicas,
            in_sync=replicas[:synchronous],
            asynchronous=replicas[synchronous:],
            broker_epoch=live[replicas[0]].epoch,
        )
        return Beginning(
            state, tuple(Compare(broker_key(node), live[node].epoch) for node in replicas)
        )

    def _begin_beside(self, topic: Topic, index: int) -> Beginning:
        """Begins a companion with the replicas and the leader of the partition beside it.

        Who may lead that one may lead this one, too, since nothing was written yet.
        """
        assert topic.beside is not None
        source = self._view.by_id(topic.beside)
        if source is None:
            raise UnknownTopicOrPartition(
                f"the topic that '{topic.name}' accompanies does not exist"
            )
        if index >= source.partitions:
            raise InvalidPartitions(
                f"'{source.name}' has {source.partitions} partitions, so its companion"
                f" '{topic.name}' cannot have more"
            )
        entry = self._entry(source, index)
        state = replace(
            entry.state,
            leader_epoch=FIRST_LEADER_EPOCH,
            incomplete=(),
            unclean_epoch=NO_EPOCH,
        )
        return Beginning(state, (Compare(partition_key(source.id, index), entry.mod_revision),))

    def _entry(self, topic: Topic, index: int) -> PartitionEntry:
        entry = self._view.state(topic.id, index)
        assert entry is not None, "a topic in the catalog has a state for each partition"
        return entry
