"""Random lives of a group: what is read back after a crash is what was durable before it."""

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.fakes.group_driver import Driver

from duolog.core.groups.formats import decode, encode
from duolog.core.groups.group import Group
from duolog.core.groups.messages import JoinReply, MemberIdentity, Reply
from duolog.core.groups.state import GroupState
from duolog.model.errors import MemberIdRequired, Refusal


class GroupLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(writes_at_once=False)
        self.ids: list[str] = [""]
        self.seen = 0

    def note_ids(self) -> None:
        for ticket in list(self.driver.answers)[self.seen :]:
            reply: Reply = self.driver.answers[ticket]
            if isinstance(reply, JoinReply | MemberIdRequired):
                self.ids.append(reply.member_id)
        self.seen = len(self.driver.answers)
        del self.ids[1:-6]

    @rule(
        who=st.integers(0, 6),
        instance=st.sampled_from([None, None, "a", "b"]),
        handshake=st.booleans(),
    )
    def join(self, who: int, instance: str | None, handshake: bool) -> None:
        member_id = self.ids[who % len(self.ids)]
        with contextlib.suppress(Refusal):
            self.driver.join(member_id, instance_id=instance, knows_id_handshake=handshake)

    @rule(who=st.integers(0, 6), assignment=st.binary(max_size=2))
    def sync(self, who: int, assignment: bytes) -> None:
        member_id = self.ids[who % len(self.ids)]
        with contextlib.suppress(Refusal):
            self.driver.sync(member_id, dict.fromkeys(self.ids, assignment))

    @rule(disk=st.booleans())
    def everybody_does_as_told(self, disk: bool) -> None:
        """Random single requests would hardly ever bring a group through a rebalance."""
        group = self.driver.group
        if group.state is GroupState.EMPTY:
            self.driver.join()
        for member in group.describe_members():
            if group.state is GroupState.PREPARING_REBALANCE:
                self.driver.join(member.id, instance_id=member.instance_id)
        self.driver.pass_ms(100)
        members = {each.id: each.id.encode() for each in group.describe_members()}
        for member_id in members:
            if group.state is GroupState.COMPLETING_REBALANCE:
                self.driver.sync(member_id, members)
        if disk:
            self.driver.write_all()

    @rule(who=st.integers(0, 6))
    def heartbeat(self, who: int) -> None:
        with contextlib.suppress(Refusal):
            self.driver.heartbeat(self.ids[who % len(self.ids)])

    @rule(who=st.integers(0, 6))
    def leave(self, who: int) -> None:
        self.driver.leave(self.ids[who % len(self.ids)])

    @rule()
    def static_leave(self) -> None:
        self.driver.leave(MemberIdentity("", "a"))

    @rule(who=st.integers(0, 6), offset=st.integers(0, 9), partition=st.integers(0, 2))
    def commit(self, who: int, offset: int, partition: int) -> None:
        member_id = self.ids[who % len(self.ids)]
        generation = self.driver.group.generation if member_id else -1
        with contextlib.suppress(Refusal):
            self.driver.commit(
                offset, partition=partition, member_id=member_id, generation=generation
            )

    @rule(duration_ms=st.sampled_from([1, 100, 5_000, 10_000, 60_000, 8 * 24 * 3600 * 1000]))
    def time_passes(self, duration_ms: int) -> None:
        self.driver.pass_ms(duration_ms)

    @rule()
    def expire(self) -> None:
        self.driver.expire()

    @rule()
    def delete(self) -> None:
        with contextlib.suppress(Refusal):
            self.driver.perform(self.driver.group.delete(self.driver.ticket()))

    @rule()
    def topic_deleted(self) -> None:
        self.driver.perform(self.driver.group.topic_deleted("t"))

    @rule()
    def disk_catches_up(self) -> None:
        self.driver.write_all()

    @precondition(lambda self: self.driver.pending_writes)
    @rule()
    def disk_fails(self) -> None:
        self.driver.fail_all()

    @invariant()
    def reading_back_gives_the_durable_state(self) -> None:
        self.note_ids()
        group = Group("g", self.driver.settings)
        for record in self.driver.records:
            group.replay(decode(*encode(record)))
        assert group.ledger == self.driver.group.ledger

    @invariant()
    def a_stable_group_is_as_it_was_written(self) -> None:
        live = self.driver.group
        if live.state is not GroupState.STABLE or self.driver.pending_writes:
            return
        restarted = Group("g", self.driver.settings)
        for record in self.driver.records:
            restarted.replay(record)
        restarted.loaded(self.driver.now)
        assert restarted.state is GroupState.STABLE
        assert restarted.generation == live.generation
        assert restarted.protocol == live.protocol
        assert restarted.describe_members() == live.describe_members()

    @invariant()
    def who_waits_is_in_a_state_that_waits(self) -> None:
        group = self.driver.group
        if group.state in (GroupState.EMPTY, GroupState.STABLE):
            roster = group._rebalance.roster
            assert not roster.syncs
            assert not roster.joins


TestGroupLife = GroupLife.TestCase
TestGroupLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
