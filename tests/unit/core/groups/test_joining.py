import pytest
from tests.fakes.group_driver import Driver, subscription

from duolog.core.groups.messages import MemberIdentity, MemberProtocol
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState
from duolog.model.errors import (
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidRequest,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)


def test_the_first_member_leads_and_is_told_of_everybody(driver: Driver) -> None:
    first = driver.join()
    assert first not in driver.answers
    driver.pass_ms(100)
    reply = driver.joined(first)
    assert reply.generation == 1
    assert reply.leader == reply.member_id
    assert [each.id for each in reply.members] == [reply.member_id]
    assert reply.protocol == "range"
    assert driver.group.state is GroupState.COMPLETING_REBALANCE


def test_members_that_start_together_share_the_first_rebalance(driver: Driver) -> None:
    tickets = [driver.join()]
    driver.pass_ms(60)
    tickets.append(driver.join())
    driver.pass_ms(60)
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    driver.pass_ms(100)
    replies = [driver.joined(ticket) for ticket in tickets]
    assert {each.generation for each in replies} == {1}
    assert len(replies[0].members) == 2
    assert replies[1].members == ()


def test_newcomers_cannot_delay_the_first_rebalance_beyond_its_timeout(driver: Driver) -> None:
    first = driver.join(rebalance_timeout_ms=1_000)
    for _ in range(20):
        driver.pass_ms(60)
        driver.join(rebalance_timeout_ms=1_000)
    assert driver.joined(first).generation == 1


def test_without_a_delay_the_first_member_waits_for_nobody() -> None:
    driver = Driver(GroupSettings(initial_rebalance_delay_ms=0))
    assert driver.joined(driver.join()).generation == 1


def test_one_then_three_then_two_members(driver: Driver) -> None:
    (one,) = driver.stable(1)
    newcomers = [driver.join(), driver.join()]
    with pytest.raises(RebalanceInProgress):
        driver.heartbeat(one)
    again = driver.join(one)
    assert driver.joined(again).generation == 2
    assert len(driver.joined(again).members) == 3
    two, three = (driver.joined(each).member_id for each in newcomers)
    driver.settle([one, two, three])
    assert driver.group.state is GroupState.STABLE

    assert driver.leave(one) == [None]
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    second = driver.join(two)
    third = driver.join(three)
    assert driver.joined(second).leader == two
    assert [each.id for each in driver.joined(second).members] == [two, three]
    assert driver.joined(third).generation == 3
    driver.settle([two, three])
    assert driver.group.state is GroupState.STABLE


def test_a_new_member_is_given_an_id_and_joins_again_with_it(driver: Driver) -> None:
    refused = driver.join(knows_id_handshake=True)
    assert driver.refused(refused) is MemberIdRequired
    assert driver.group.state is GroupState.EMPTY
    member_id = driver.given_id(refused)
    joined = driver.join(member_id, knows_id_handshake=True)
    driver.pass_ms(100)
    assert driver.joined(joined).member_id == member_id


def test_an_id_that_is_not_used_in_time_is_forgotten(driver: Driver) -> None:
    member_id = driver.given_id(driver.join(knows_id_handshake=True))
    driver.pass_ms(10_000)
    assert driver.group.is_forgettable
    with pytest.raises(UnknownMember):
        driver.join(member_id)


def test_a_rebalance_waits_for_a_member_that_was_just_given_an_id(driver: Driver) -> None:
    (one,) = driver.stable(1)
    driver.join(knows_id_handshake=True)
    driver.join()
    again = driver.join(one)
    assert again not in driver.answers
    driver.pass_ms(10_000)
    assert len(driver.joined(again).members) == 2


def test_a_pending_member_may_leave(driver: Driver) -> None:
    member_id = driver.given_id(driver.join(knows_id_handshake=True))
    assert driver.leave(member_id) == [None]
    assert driver.group.is_forgettable


def test_an_id_that_was_given_to_a_dynamic_member_is_none_of_a_static_one(driver: Driver) -> None:
    driver.join(instance_id="a")
    pending = driver.given_id(driver.join(knows_id_handshake=True))
    with pytest.raises(UnknownMember):
        driver.join(pending, instance_id="a")
    assert [each.instance_id for each in driver.group.describe_members()] == ["a"]


def test_a_follower_that_joins_again_unchanged_gets_the_same_answer(driver: Driver) -> None:
    _, follower = driver.stable(2)
    reply = driver.joined(driver.join(follower))
    assert reply.generation == 1
    assert driver.group.state is GroupState.STABLE


def test_a_leader_that_joins_again_wants_a_rebalance(driver: Driver) -> None:
    leader, follower = driver.stable(2)
    ticket = driver.join(leader)
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    driver.join(follower)
    assert driver.joined(ticket).generation == 2


def test_a_member_that_changes_its_subscription_causes_a_rebalance(driver: Driver) -> None:
    _, follower = driver.stable(2)
    driver.join(follower, protocols=(MemberProtocol("range", subscription("t", "u")),))
    assert driver.group.state is GroupState.PREPARING_REBALANCE


def test_a_lost_join_answer_is_repeated_before_the_sync(driver: Driver) -> None:
    tickets = [driver.join(), driver.join()]
    driver.pass_ms(200)
    leader = driver.joined(tickets[0]).member_id
    again = driver.joined(driver.join(leader))
    assert again.generation == 1
    assert len(again.members) == 2


def test_a_join_sent_twice_is_answered_once(driver: Driver) -> None:
    one, _ = driver.stable(2)
    first = driver.join(one)
    driver.join(one)
    assert driver.refused(first) is RebalanceInProgress


def test_the_protocol_that_most_prefer_and_all_know_is_chosen(driver: Driver) -> None:
    def speaks(*names: str) -> tuple[MemberProtocol, ...]:
        return tuple(MemberProtocol(name, name.encode()) for name in names)

    first = driver.join(protocols=speaks("range", "sticky"))
    driver.join(protocols=speaks("sticky", "range", "own"))
    driver.join(protocols=speaks("sticky", "range"))
    driver.pass_ms(200)
    reply = driver.joined(first)
    assert reply.protocol == "sticky"
    assert {each.metadata for each in reply.members} == {b"sticky"}


@pytest.mark.parametrize(
    "changes",
    [
        {"protocols": (MemberProtocol("own", b""),)},
        {"protocol_type": "connect"},
        {"protocols": ()},
        {"protocol_type": ""},
    ],
)
def test_a_member_that_shares_no_protocol_is_refused(
    driver: Driver, changes: dict[str, object]
) -> None:
    driver.stable(1)
    with pytest.raises(InconsistentGroupProtocol):
        driver.join(**changes)
    assert driver.group.state is GroupState.STABLE


@pytest.mark.parametrize("session_timeout_ms", [5_999, 1_800_001])
def test_the_session_timeout_has_bounds(driver: Driver, session_timeout_ms: int) -> None:
    with pytest.raises(InvalidSessionTimeout):
        driver.join(session_timeout_ms=session_timeout_ms)


def test_an_id_nobody_has_is_refused(driver: Driver) -> None:
    driver.stable(1)
    with pytest.raises(UnknownMember):
        driver.join("stranger")


def test_a_full_group_takes_nobody_else() -> None:
    driver = Driver(GroupSettings(group_size_max=2))
    one, two = driver.stable(2)
    assert driver.refused(driver.join()) is GroupMaxSizeReached
    assert driver.group.state is GroupState.STABLE
    driver.join(one)
    driver.join(two)
    assert driver.group.generation == 2


def test_a_group_can_be_asked_for_only_so_many_ids() -> None:
    driver = Driver(GroupSettings(group_size_max=2))
    driver.join(knows_id_handshake=True)
    driver.join(knows_id_handshake=True)
    with pytest.raises(GroupMaxSizeReached):
        driver.join(knows_id_handshake=True)


def test_what_members_bring_is_bounded() -> None:
    driver = Driver(GroupSettings(member_bytes_max=100, group_bytes_max=400))
    big = (MemberProtocol("range", bytes(101)),)
    with pytest.raises(InvalidRequest):
        driver.join(protocols=big)
    driver.stable(2, protocols=(MemberProtocol("range", bytes(100)),))
    with pytest.raises(GroupMaxSizeReached):
        driver.join(protocols=(MemberProtocol("range", bytes(100)),))


def test_a_name_too_long_to_store_is_refused(driver: Driver) -> None:
    with pytest.raises(InvalidRequest):
        driver.join(instance_id="i" * 5_000)


def test_leaving_names_each_who_could_not(driver: Driver) -> None:
    one, two = driver.stable(2)
    results = driver.leave(one, "stranger", MemberIdentity(two, "no-instance"))
    assert results[0] is None
    assert isinstance(results[1], UnknownMember)
    assert isinstance(results[2], UnknownMember)


def test_a_group_whose_last_member_left_is_empty(driver: Driver) -> None:
    driver.leave(*driver.stable(2))
    assert driver.group.state is GroupState.EMPTY
    assert driver.group.generation == 2
    metadata = driver.group.ledger.metadata
    assert metadata is not None
    assert metadata.members == ()
    assert metadata.protocol_type == "consumer"
