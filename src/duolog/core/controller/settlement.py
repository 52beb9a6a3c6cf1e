"""Decisions that are due at once after nodes came or went, with their reasons. Pure."""

from collections.abc import Iterator

import msgspec

from duolog.core.controller.census import Census, Standing
from duolog.core.controller.changes import Change, Decision, difference
from duolog.core.controller.elections import settle, still_leads, unclean_candidates
from duolog.core.controller.events import Event, text_of, why_nobody
from duolog.core.controller.image import ClusterImage, Group, Member, PartitionId
from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.partition_state import NO_LEADER, PartitionState


def settlement(image: ClusterImage, now_ms: int) -> list[Decision]:
    """A decision for each group that violates the rules of elections."""
    return list(settling(image, now_ms))


def settling(image: ClusterImage, now_ms: int) -> Iterator[Decision]:
    """The settlement, decision by decision: a node that went may have led thousands of groups."""
    census = Census(image)
    for group in image.groups:
        if not _is_settled(group, census):
            decision = _decide(group, census, now_ms)
            if decision is not None:
                yield decision


def wanted_log_ends(image: ClusterImage) -> dict[PartitionId, tuple[LiveNode, ...]]:
    """The nodes of which must be known where their logs end, before an unclean election."""
    if not any(topic.is_unclean_allowed for topic in image.topics.values()):
        return {}
    census = Census(image)
    wanted: dict[PartitionId, tuple[LiveNode, ...]] = {}
    for group in image.groups:
        if not _is_settled(group, census):
            wanted |= unclean_candidates(group, census)
    return wanted


def admissions(image: ClusterImage) -> list[NodeRecord]:
    """Records of nodes that registered anew, to be stored after the settlement.

    Until then nobody may trust them for what they held before.
    """
    records = []
    for live in Census(image).unjudged:
        known = image.records.get(live.id) or NodeRecord(live.id, "")
        directory = live.registration.directory
        records.append(msgspec.structs.replace(known, directory=directory, epoch=live.epoch))
    return records


def _is_settled(group: Group, census: Census) -> bool:
    """True if plainly nothing is to be done, as for nearly all groups."""
    leader = group[0].state.leader
    return all(
        still_leads(member, leader, census)
        and not member.state.eligible
        and all(node == leader or census.is_always_steady(node) for node in member.state.in_sync)
        for member in group
    )


def _decide(group: Group, census: Census, now_ms: int) -> Decision | None:
    states = settle(group, census)
    changes = difference(group, states)
    if not changes:
        return None
    changed = {change.partition: change for change in changes}
    events = tuple(
        event
        for member in group
        if member.id in changed
        for event in reasons(member, changed[member.id].state, census, now_ms)
    )
    return Decision(changes, leaders_of(changes, census), events)


def leaders_of(changes: tuple[Change, ...], census: Census) -> tuple[LiveNode, ...]:
    leaders = dict.fromkeys(change.state.leader for change in changes)
    return tuple(census.live[node] for node in leaders if node != NO_LEADER)


def reasons(member: Member, state: PartitionState, census: Census, now_ms: int) -> Iterator[Event]:
    """Why the member's state becomes this one."""
    old = member.state
    if state.leader_epoch != old.leader_epoch:
        if state.leader == NO_LEADER:
            yield Event(now_ms, "leader lost", member.text, why_nobody(state))
        elif state.is_unclean:
            text = _why_unclean(member, state, census)
            yield Event(now_ms, "leader elected uncleanly", member.text, text)
        else:
            yield Event(now_ms, "leader elected", member.text, _why_elected(old, state))
    left = [node for node in old.in_sync if node not in state.in_sync]
    emptied = [node for node in left if census.standing(member, node) is Standing.EMPTIED]
    if emptied and not state.in_sync and not state.eligible:
        yield Event(
            now_ms,
            "data lost",
            member.text,
            f"The last complete replica was on {text_of(emptied)}, which now has a different data"
            " directory. Start the node with its old directory, or set"
            " unclean.leader.election.enable for the topic to continue with what others have.",
        )


def _why_elected(old: PartitionState, state: PartitionState) -> str:
    was = "nobody" if old.leader == NO_LEADER else f"node {old.leader}"
    return (
        f"Node {state.leader} leads in epoch {state.leader_epoch} after {was};"
        f" in sync: {text_of(state.in_sync)}."
    )


def _why_unclean(member: Member, state: PartitionState, census: Census) -> str:
    """The sentences that say whose log was chosen, and what that costs."""
    ends = census.log_ends(member)
    others = [f"node {node} at {ends[node].end_offset}" for node in ends if node != state.leader]
    text = (
        f"Node {state.leader} leads in epoch {state.leader_epoch} though it may lack acknowledged"
        f" records, which are then lost. Its log has the latest epoch,"
        f" {ends[state.leader].last_epoch}, and ends at {ends[state.leader].end_offset}"
    )
    return f"{text}; the others: {', '.join(others)}." if others else f"{text}."
