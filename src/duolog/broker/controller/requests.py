"""Operators' requests to the cluster, which any node accepts: moves, elections, draining.

Each is a transaction in the store, fenced like the controller's own by the controller epoch and
by the state that it was decided on. The controller sees the result and continues from there, so
nobody has to find or reach the controller.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import msgspec

from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.cluster_nodes import ClusterNodes
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.survey import Surveyor
from duolog.broker.membership.entries import (
    CONTROLLER_EPOCH,
    broker_key,
    decode_record,
    encode,
    node_key,
)
from duolog.broker.store_follower import asked
from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import settle, unclean_candidates
from duolog.core.controller.events import Event, text_of
from duolog.core.controller.image import ClusterImage, Group, Member, PartitionId, TopicImage
from duolog.core.controller.moves import can_lead, move_leader
from duolog.core.controller.reassignment import begun, cancelled, has_enough
from duolog.core.controller.settlement import leaders_of, reasons
from duolog.model.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidReplicaAssignment,
    InvalidRequest,
    NoReassignmentInProgress,
    PreferredLeaderNotAvailable,
    RequestTimedOut,
)
from duolog.model.partition_state import NO_LEADER
from duolog.ports.clock import Clock
from duolog.ports.metastore import Compare, MetaStore, Put

_ATTEMPTS_MAX = 16
"""Attempts at a request whose partition, or node, changes meanwhile."""

Decide = Callable[[Group, Census], Decision]


class Requests:
    def __init__(
        self,
        store: MetaStore,
        clock: Clock,
        catalog: Catalog,
        cluster: ClusterNodes,
        events: EventLog,
        surveyor: Surveyor,
    ) -> None:
        self._store = store
        self._clock = clock
        self._catalog = catalog
        self._cluster = cluster
        self._events = events
        self._surveyor = surveyor

    async def request_reassignment(self, topic: str, index: int, replicas: Sequence[int]) -> None:
        """Begins to move the partition, and its companions, to these nodes."""
        target = self._catalog.placement.check_replicas(replicas)

        def decide(group: Group, census: Census) -> Decision:
            states = [begun(member.state, target) for member in group]
            return Decision(difference(group, states))

        await self._catalog.forget_factor(topic)
        text = f"An operator asked for the replicas to be on {list(target)}."
        await self._change(topic, index, decide, "reassignment begun", text)

    async def cancel_reassignment(self, topic: str, index: int) -> None:
        """Cancels a reassignment: back to the replicas from before."""
        text = "An operator asked for the replicas from before."
        await self._change(topic, index, _cancel, "reassignment cancelled", text)

    async def elect_preferred(self, topic: str, index: int) -> None:
        """Moves the lead to the preferred leader, the first of the replicas."""
        text = "An operator asked for the preferred leader."
        await self._change(topic, index, _elect_preferred, "leader moved", text)

    async def elect_uncleanly(self, topic: str, index: int) -> None:
        """Elects the live replica with the longest log for a partition that nobody may lead;
        records that it lacks are lost."""

        async def survey(image: ClusterImage) -> ClusterImage:
            return await self._with_log_ends(image, topic, index)

        def decide(group: Group, census: Census) -> Decision:
            return _elect_uncleanly(group, census, self._clock.now_ms())

        await self._change(topic, index, decide, survey=survey)

    async def set_draining(self, node: int, draining: bool) -> None:
        """Begins or ends the draining of a node, which may be down."""
        key = node_key(node)
        for _ in range(_ATTEMPTS_MAX):
            entry = await asked(self._store.get(key))
            if entry is None:
                raise InvalidRequest(f"there is no node {node}")
            record = msgspec.structs.replace(decode_record(entry), draining=draining)
            compares = [Compare(key, entry.mod_revision)]
            result = await asked(self._store.transact(compares, [Put(key, encode(record))]))
            if result.committed:
                what = "draining begun" if draining else "draining ended"
                self._report(what, f"node {node}", "An operator asked for it.")
                return
        raise RequestTimedOut(f"node {node} is being changed by others too often")

    async def _change(
        self,
        topic: str,
        index: int,
        decide: Decide,
        kind: str = "",
        text: str = "",
        survey: Callable[[ClusterImage], Awaitable[ClusterImage]] | None = None,
    ) -> None:
        """Decides and commits; `kind` and `text` report a decision without events of its own."""
        for _ in range(_ATTEMPTS_MAX):
            epoch = await asked(self._store.get(CONTROLLER_EPOCH))
            image = self._image(topic, index)
            if survey is not None:
                image = await survey(image)
            (group,) = [group for group in image.groups if group[0].id.index == index]
            decision = decide(group, Census(image))
            if not decision.changes:
                return
            epoch_revision = 0 if epoch is None else epoch.mod_revision
            revision = await self._commit(decision, epoch_revision)
            if revision is not None:
                if decision.events:
                    self._events.add(decision.events)
                else:
                    self._report(kind, group[0].text, text)
                await self._catalog.follower.until(revision)
                return
            await self._catch_up(group)
        raise RequestTimedOut(f"partition {index} of '{topic}' is being changed too often")

    def _report(self, kind: str, subject: str, text: str) -> None:
        self._events.add([Event(self._clock.now_ms(), kind, subject, text)])

    async def _with_log_ends(self, image: ClusterImage, topic: str, index: int) -> ClusterImage:
        """The image for an unclean election, which waits for no other, with the live logs' ends."""
        allowed = replace(
            image,
            topics={
                id_: replace(each, is_unclean_allowed=True) for id_, each in image.topics.items()
            },
        )
        (group,) = [group for group in allowed.groups if group[0].id.index == index]
        wanted = unclean_candidates(group, Census(allowed))
        ends = await self._surveyor.ask(wanted)
        for partition, nodes in wanted.items():
            silent = [live.id for live in nodes if live.id not in ends.get(partition, {})]
            if silent:
                raise EligibleLeadersNotAvailable(
                    f"{text_of(silent)} is alive and may have the longest log of '{topic}' {index},"
                    " but does not answer: repair its links, or stop it to go on without it"
                )
        return replace(allowed, log_ends=ends)

    def _image(self, topic: str, index: int) -> ClusterImage:
        """Builds an image of the cluster that holds only this partition and its companions."""
        data = self._catalog.get(topic)
        if data.beside is not None:
            beside = self._catalog.by_id(data.beside).name
            raise InvalidReplicaAssignment(
                f"'{topic}' is a companion of '{beside}' and moves with it"
            )
        self._catalog.partition_entry(data, index)
        journals = [each for each in self._catalog.topics.values() if each.beside == data.id]
        topics = [data, *(each for each in journals if index < each.partitions)]
        return ClusterImage(
            live=self._cluster.live,
            records=self._cluster.records,
            topics={
                each.id: TopicImage(
                    each.id,
                    each.name,
                    each.partitions,
                    each.config.min_insync_replicas,
                    each.config.durability == "fsync",
                )
                for each in topics
            },
            entries={
                PartitionId(each.id, index): self._catalog.partition_entry(each, index)
                for each in topics
            },
            data_of={each.id: data.id for each in topics[1:]},
            statements=self._cluster.statements,
        )

    async def _commit(self, decision: Decision, epoch_revision: int) -> int | None:
        compares = [Compare(CONTROLLER_EPOCH, epoch_revision)]
        compares += [Compare(broker_key(node.id), node.epoch) for node in decision.elected]
        puts = []
        for change in decision.changes:
            key = partition_key(change.partition.topic_id, change.partition.index)
            compares.append(Compare(key, change.mod_revision))
            puts.append(Put(key, encode_state(change.state)))
        result = await asked(self._store.transact(compares, puts))
        return result.revision if result.committed else None

    async def _catch_up(self, group: Group) -> None:
        """Waits until this node has seen the changes that outran its own."""
        for member in group:
            key = partition_key(member.id.topic_id, member.id.index)
            entry = await asked(self._store.get(key))
            if entry is not None:
                await self._catalog.follower.until(entry.mod_revision)


def _cancel(group: Group, census: Census) -> Decision:
    if not any(member.state.adding or member.state.removing for member in group):
        raise NoReassignmentInProgress(f"{group[0].text} is not being reassigned")
    for member in group:
        if member.state.leader in member.state.adding or not _has_enough_from_before(member):
            raise InvalidRequest(
                f"{member.text} relies on its new replicas already; reassign it instead"
            )
    return Decision(difference(group, [cancelled(member.state) for member in group]))


def _has_enough_from_before(member: Member) -> bool:
    state = member.state
    return has_enough(member, [node for node in state.replicas if node not in state.adding])


def _elect_preferred(group: Group, census: Census) -> Decision:
    preferred = group[0].state.replicas[0]
    if all(member.state.leader == preferred for member in group):
        raise ElectionNotNeeded(f"{group[0].text} is led by node {preferred} already")
    if not can_lead(group, preferred, census):
        raise PreferredLeaderNotAvailable(
            f"node {preferred}, the preferred leader of {group[0].text}, is not alive or not in"
            " sync"
        )
    if census.is_doubted(preferred):
        others = text_of(census.statements.doubters(preferred))
        raise PreferredLeaderNotAvailable(
            f"{others} cannot reach node {preferred}, the preferred leader of {group[0].text}"
        )
    return move_leader(group, preferred, census)


def _elect_uncleanly(group: Group, census: Census, now_ms: int) -> Decision:
    if all(member.state.leader != NO_LEADER for member in group):
        raise ElectionNotNeeded(f"{group[0].text} has a leader")
    states = settle(group, census)
    if any(state.leader == NO_LEADER for state in states):
        raise EligibleLeadersNotAvailable(f"no replica of {group[0].text} is alive")
    changes = difference(group, states)
    events = tuple(
        msgspec.structs.replace(event, text=f"{event.text} An operator asked for it.")
        for member, state in zip(group, states, strict=True)
        if state != member.state
        for event in reasons(member, state, census, now_ms)
    )
    return Decision(changes, leaders_of(changes, census), events)
