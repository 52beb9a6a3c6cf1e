"""Keeps partitions writable while nodes that are alive do not reach each other. Pure but for its
memory.

A node that reaches the store and its clients, but not its peers, keeps its lease. As a leader it
can commit nothing, and as a follower it holds up every write that waits for it. So a leader that
most of its followers cannot reach is replaced by a member that the others reach, and leaves the
in-sync set with the same change; a follower leaves the sets of the leaders that it cannot reach.
No set becomes too small by that; one that is too small already may pass to a leader that others
reach, and so can grow again.

Only what live nodes say counts (Census). Members have everything that was acknowledged, and so have
eligible replicas while the set is too small to acknowledge anything: a leader that is alone in its
set may have acknowledged records alone, and is replaced by nobody.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected, least_in_sync, sync_replicas
from duolog.core.controller.events import Event, text_of
from duolog.core.controller.image import ClusterImage, Group, Member
from duolog.core.controller.moves import complete_replicas, led_together
from duolog.core.controller.rests import Rests
from duolog.model.partition_state import PartitionState

Link = tuple[int, int]
"""A node, and another that it tries to reach."""

VOICES_MIN = 2
"""Nodes that must say that they cannot reach a leader before it is replaced. One alone may be the
one that is cut off: it leaves the set, and the leader goes on without it."""


GRACE_MS = 1_500
"""Time for the other followers to notice, too, that their leader is cut off. A follower that speaks
first and has left the set by then could not succeed the leader."""


class Isolation:
    def __init__(self) -> None:
        self._moves = Rests()
        self._since_ms: dict[Link, int] = {}
        """Links on which a node cannot reach another → when that was first seen."""
        self._looked_ms = 0

    def wait_ms(self, now_ms: int) -> int | None:
        """Time until a decision may be due although nothing changes; None: there is none such."""
        if not self._since_ms:
            return None
        ends_ms = [since_ms + GRACE_MS for since_ms in self._since_ms.values()]
        ends_ms += self._moves.ends_ms
        end_ms = min((each for each in ends_ms if each > self._looked_ms), default=None)
        return None if end_ms is None else max(0, end_ms - now_ms)

    def decisions(self, image: ClusterImage, now_ms: int) -> list[Decision]:
        self._moves.settle(image, now_ms)
        self._looked_ms = now_ms
        if not any(statement.unreachable for statement in image.statements.values()):
            self._since_ms = {}
            return []
        census = Census(image)
        self._since_ms = {
            # Not later than now: the clock may have been set back.
            link: min(self._since_ms.get(link, now_ms), now_ms)
            for link in census.statements.broken_links
        }
        decisions = (
            self._decide(part, census, now_ms)
            for group in image.groups
            for part in led_together(group, census)
        )
        return [decision for decision in decisions if decision is not None]

    def _decide(self, part: Group, census: Census, now_ms: int) -> Decision | None:
        decision = None
        if is_unreachable_leader(part, census):
            if self._moves.is_resting(part):
                # Without its followers the leader could acknowledge alone, and nobody could
                # replace it any more.
                return None
            decision = self._replace_leader(part, census, now_ms)
        return decision or self._remove_cut(part, census, now_ms)

    def _replace_leader(self, part: Group, census: Census, now_ms: int) -> Decision | None:
        successor = _successor(part, census)
        if successor is None:
            return None
        live = census.live[successor]
        states = [
            elected(_succeeded(member, successor, census), successor, live.epoch) for member in part
        ]
        changes = difference(part, states)
        self._moves.begin(changes)
        return Decision(changes, (live,), (_why_replaced(part, states[0], census, now_ms),))

    def _remove_cut(self, part: Group, census: Census, now_ms: int) -> Decision | None:
        cut = [
            node
            for node in cut_followers(part, census)
            if self._is_certain(part, node, census, now_ms)
        ]
        states = [_without(member.state, cut) for member in part]
        is_enough = all(
            len(state.in_sync) >= least_in_sync(member)
            for member, state in zip(part, states, strict=True)
        )
        changes = difference(part, states) if is_enough else ()
        if not changes:
            return None
        return Decision(changes, (), (_why_removed(part, cut, now_ms),))

    def _is_certain(self, part: Group, node: int, census: Census, now_ms: int) -> bool:
        """True if it is the follower that is cut off, or its leader is still reached by others."""
        leader, said = part[0].state.leader, census.statements
        if any(each != leader for each in said.complaints(node)):
            return True
        if now_ms - self._since_ms[node, leader] < GRACE_MS:
            return False
        members = dict.fromkeys(each for member in part for each in member.state.in_sync)
        others = [each for each in members if each in census.live and each not in (node, leader)]
        return not others or any(said.reads_from(each, leader) for each in others)


def is_unreachable_leader(part: Group, census: Census) -> bool:
    """True if a majority of the leader's followers cannot reach it, and no node alone says so."""
    leader = part[0].state.leader
    complaints = census.statements.complaints(leader)
    followers = [node for node in sync_replicas(part[0].state) if node != leader]
    voices = sum(node in complaints for node in followers)
    return 2 * voices > len(followers) and len(complaints) >= VOICES_MIN


def cut_followers(part: Group, census: Census) -> list[int]:
    """Members of the in-sync sets that cannot reach their leader."""
    leader = part[0].state.leader
    members = dict.fromkeys(node for member in part for node in member.state.in_sync)
    return [node for node in members if census.statements.cannot_reach(node, leader)]


def _followed_by(member: Member, successor: int, census: Census) -> tuple[int, ...]:
    """The in-sync set under a new leader: complete followers that do not say that they cannot
    reach it."""
    kept = [
        node
        for node in complete_replicas(member, census)
        if node != member.state.leader and not census.statements.cannot_reach(node, successor)
    ]
    return tuple(node for node in member.state.replicas if node in kept)


def _successor(part: Group, census: Census) -> int | None:
    """The node to lead the partitions: complete in all of them, and reached by most others."""
    leader = part[0].state.leader
    replicas = [node for node in sync_replicas(part[0].state) if node != leader]
    fitting = [node for node in replicas if _may_succeed(part, node, replicas, census)]
    return min(fitting, key=census.reluctance, default=None)


def _may_succeed(part: Group, node: int, replicas: Sequence[int], census: Census) -> bool:
    others = [each for each in replicas if each != node and each in census.live]
    cut = sum(census.statements.cannot_reach(each, node) for each in others)
    if cut and 2 * cut >= len(others):
        return False
    return all(
        node in sync_replicas(member.state)
        and node in (followed_by := _followed_by(member, node, census))
        and len(followed_by) >= min(least_in_sync(member), len(member.state.in_sync))
        for member in part
    )


def _succeeded(member: Member, successor: int, census: Census) -> PartitionState:
    """The state for a new leader. A set that is too small stays so, and nothing is acknowledged
    before others have copied from the new leader: until then the old one is as complete."""
    in_sync = _followed_by(member, successor, census)
    eligible: tuple[int, ...] = ()
    if len(in_sync) < least_in_sync(member):
        complete = complete_replicas(member, census)
        eligible = tuple(node for node in complete if node not in in_sync)
    return replace(member.state, in_sync=in_sync, eligible=eligible)


def _without(state: PartitionState, cut: Iterable[int]) -> PartitionState:
    kept = tuple(node for node in state.in_sync if node not in cut)
    return state if kept == state.in_sync else replace(state, in_sync=kept, eligible=())


def _why_replaced(part: Group, state: PartitionState, census: Census, now_ms: int) -> Event:
    old = part[0].state
    others = text_of(census.statements.complaints(old.leader))
    text = (
        f"Node {old.leader} led and is alive, but {others} cannot reach it; node {state.leader}"
        f" leads. In sync: {text_of(state.in_sync)}. Check the network and the certificates of"
        f" node {old.leader}."
    )
    return Event(now_ms, "leader moved", part[0].text, text)


def _why_removed(part: Group, cut: Sequence[int], now_ms: int) -> Event:
    text = (
        f"{text_of(cut).capitalize()} cannot reach node {part[0].state.leader}, which leads: writes"
        " do not wait for it. Check the network and the certificates between them."
    )
    return Event(now_ms, "replica cut off", part[0].text, text)
