"""Moves leaders and followers off full disks, as long as enough members have room. Pure.

A leader whose disk is full can append nothing, and a full follower holds up every write that waits
for it. With its companions such a node gives up the leadership and its place in the in-sync sets,
but only if each set keeps `min.insync.replicas` members with room. Else all stay: the disks fill
alike, no other leader could do more, and a smaller set could commit nothing at all. Leaders then
refuse new messages (core/replica/room.py), so that the set stays in sync, and journals, which
receiving and deleting need, can still be committed.

Why a move is safe: the new leader and the whole new set have everything that was acknowledged. They
are members, or eligible replicas of a set that was too small to acknowledge anything since these
left it. The set and the leader change in one transaction on the state that was decided upon, so no
old set can acknowledge anything beside the new one: the old leader's needs the new leader's copy,
which follows it no more once it knows its own epoch. The node that leaves lacks nothing at that
moment, and comes back by copying what it missed, once it has room.
"""

from collections.abc import Collection

from msgspec.structs import replace

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected, least_in_sync, sync_replicas
from duolog.core.controller.events import Event, text_of
from duolog.core.controller.image import ClusterImage, Group, Member
from duolog.core.controller.moves import complete_replicas, led_together
from duolog.core.replica.room import has_enough_room


def full_disk_moves(image: ClusterImage, now_ms: int) -> list[Decision]:
    if not any(statement.full for statement in image.statements.values()):
        return []
    census = Census(image)
    decisions = (
        _decide(part, census, now_ms)
        for group in image.groups
        for part in led_together(group, census)
    )
    return [decision for decision in decisions if decision is not None]


def leaving_for_room(part: Group, census: Census) -> tuple[int, ...]:
    """Members on full disks that have to leave all sets of the group; none if too few with room
    would remain in one of them."""
    members = dict.fromkeys(node for member in part for node in member.state.in_sync)
    full = tuple(node for node in members if census.is_full(node))
    if full and all(
        has_enough_room(_complete(member, census), full, least_in_sync(member)) for member in part
    ):
        return full
    return ()


def _decide(part: Group, census: Census, now_ms: int) -> Decision | None:
    leaving = leaving_for_room(part, census)
    if not leaving:
        return None
    leader = part[0].state.leader
    if leader not in leaving:
        return _without(part, leaving, census, now_ms)
    successor = _successor(part, census)
    if successor is None:
        return None
    live = census.live[successor]
    states = [
        elected(
            replace(member.state, in_sync=_with_room(member, census), eligible=()),
            successor,
            live.epoch,
        )
        for member in part
    ]
    text = f"{_full(leaving)}; node {successor} leads after node {leader}."
    event = Event(now_ms, "leader moved", part[0].text, text)
    return Decision(difference(part, states), (live,), (event,))


def _without(part: Group, leaving: Collection[int], census: Census, now_ms: int) -> Decision | None:
    """Takes followers out of the sets. Eligible replicas do not enter for them: only their leader
    knows how far they are."""
    states = []
    for member in part:
        kept = tuple(node for node in member.state.in_sync if node not in leaving)
        able = [node for node in kept if node in _with_room(member, census)]
        if len(able) < least_in_sync(member):
            return None
        states.append(replace(member.state, in_sync=kept, eligible=()))
    text = f"{_full(leaving)}: writes do not wait for it. It copies again once it has room."
    event = Event(now_ms, "replica left", part[0].text, text)
    return Decision(difference(part, states), (), (event,))


def _complete(member: Member, census: Census) -> list[int]:
    """Complete replicas that the others reach, the leader among them."""
    found = complete_replicas(member, census)
    return [node for node in found if not census.is_doubted(node)]


def _with_room(member: Member, census: Census) -> tuple[int, ...]:
    """The complete replicas with room, in the order of the replicas."""
    found = [node for node in _complete(member, census) if not census.is_full(node)]
    return tuple(node for node in member.state.replicas if node in found)


def _successor(part: Group, census: Census) -> int | None:
    fitting = [
        node
        for node in part[0].state.replicas
        if all(
            node in sync_replicas(member.state) and node in _with_room(member, census)
            for member in part
        )
    ]
    return min(fitting, key=census.reluctance, default=None)


def _full(leaving: Collection[int]) -> str:
    return f"The disk of {text_of(tuple(leaving))} is full"
