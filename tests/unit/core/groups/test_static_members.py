from dataclasses import replace

import pytest
from tests.fakes.group_driver import Driver, subscription

from duolog.core.groups.messages import MemberIdentity, MemberProtocol
from duolog.core.groups.state import GroupState
from duolog.model.errors import FencedInstanceId, RebalanceInProgress, UnknownMember


def stable_pair(driver: Driver) -> list[str]:
    tickets = [driver.join(instance_id="a"), driver.join(instance_id="b")]
    driver.pass_ms(200)
    return driver.settle([driver.joined(ticket).member_id for ticket in tickets])


def test_a_static_member_restarts_without_a_rebalance(driver: Driver) -> None:
    _, old = stable_pair(driver)
    reply = driver.joined(driver.join(instance_id="b"))
    assert reply.member_id != old
    assert reply.generation == 1
    assert not reply.skip_assignment
    assert driver.group.state is GroupState.STABLE
    assignment = driver.synced(driver.sync(reply.member_id)).assignment
    assert assignment == old.encode()


def test_the_new_identity_is_durable_before_it_is_told(driver: Driver) -> None:
    stable_pair(driver)
    driver.writes_at_once = False
    ticket = driver.join(instance_id="b")
    assert ticket not in driver.answers
    driver.write_all()
    metadata = driver.group.ledger.metadata
    assert metadata is not None
    assert driver.joined(ticket).member_id in {each.id for each in metadata.members}


def test_the_former_self_is_fenced(driver: Driver) -> None:
    _, old = stable_pair(driver)
    driver.join(instance_id="b")
    with pytest.raises(FencedInstanceId):
        driver.heartbeat(old, instance_id="b")
    with pytest.raises(FencedInstanceId):
        driver.commit(1, member_id=old, generation=1, instance_id="b")
    with pytest.raises(FencedInstanceId):
        driver.sync(old, identity=MemberIdentity(old, "b"))
    with pytest.raises(FencedInstanceId):
        driver.join(old, instance_id="b")
    with pytest.raises(UnknownMember):
        driver.heartbeat(old)


def test_a_restarted_leader_is_told_to_skip_the_assignment(driver: Driver) -> None:
    stable_pair(driver)
    reply = driver.joined(driver.join(instance_id="a"))
    assert reply.leader == reply.member_id
    assert reply.skip_assignment
    assert len(reply.members) == 2
    assert driver.group.state is GroupState.STABLE


def test_an_older_restarted_leader_is_made_to_believe_it_follows(driver: Driver) -> None:
    leader, _ = stable_pair(driver)
    reply = driver.joined(driver.join(instance_id="a", knows_skip_assignment=False))
    assert reply.leader == leader
    assert reply.leader != reply.member_id
    assert reply.members == ()


def test_a_restart_with_another_subscription_rebalances(driver: Driver) -> None:
    stable_pair(driver)
    driver.join(instance_id="b", protocols=(MemberProtocol("range", subscription("u")),))
    assert driver.group.state is GroupState.PREPARING_REBALANCE


def test_a_restart_that_forgot_what_it_owned_does_not_rebalance(driver: Driver) -> None:
    stable_pair(driver)
    metadata = subscription("t", user_data=b"nothing")
    driver.join(instance_id="b", protocols=(MemberProtocol("range", metadata),))
    assert driver.group.state is GroupState.STABLE


def test_a_restart_while_the_leader_assigns_rebalances(driver: Driver) -> None:
    tickets = [driver.join(instance_id="a"), driver.join(instance_id="b")]
    driver.pass_ms(200)
    old = driver.joined(tickets[1]).member_id
    parked = driver.sync(old, identity=MemberIdentity(old, "b"))
    driver.join(instance_id="b")
    assert driver.refused(parked) is FencedInstanceId
    assert driver.group.state is GroupState.PREPARING_REBALANCE


def test_a_restart_during_the_join_phase_takes_the_parked_place(driver: Driver) -> None:
    leader, follower = stable_pair(driver)
    parked = driver.join(leader, instance_id="a")
    again = driver.join(instance_id="a")
    assert driver.refused(parked) is FencedInstanceId
    driver.join(follower, instance_id="b")
    assert driver.joined(again).leader == driver.joined(again).member_id


def test_a_static_member_that_is_away_keeps_its_place_in_a_rebalance(driver: Driver) -> None:
    # Its session outlasts the rebalance: it may just be restarting.
    changes = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 30_000}
    tickets = [driver.join(instance_id=each, **changes) for each in ("a", "b")]
    driver.pass_ms(200)
    leader, away = driver.settle([driver.joined(each).member_id for each in tickets])
    again = driver.join(leader, instance_id="a", **changes)
    driver.pass_ms(30_000)
    assert {each.id for each in driver.joined(again).members} == {leader, away}


def test_a_group_whose_members_are_all_away_waits_for_their_sessions(driver: Driver) -> None:
    changes = {"session_timeout_ms": 100_000, "rebalance_timeout_ms": 30_000}
    first = driver.join(instance_id="a", **changes)
    second = driver.join(**changes)
    driver.pass_ms(200)
    members = driver.settle([driver.joined(each).member_id for each in (first, second)])
    driver.leave(members[1])
    driver.pass_ms(60_000)
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    driver.pass_ms(60_000)
    assert driver.group.state is GroupState.EMPTY


def test_an_operator_removes_a_static_member_by_its_instance_id(driver: Driver) -> None:
    leader, _ = stable_pair(driver)
    assert driver.leave(MemberIdentity("", "b")) == [None]
    reply = driver.joined(driver.join(leader, instance_id="a"))
    assert len(reply.members) == 1


def test_a_failed_replacement_gives_the_old_identity_back(driver: Driver) -> None:
    _, old = stable_pair(driver)
    driver.writes_at_once = False
    driver.join(instance_id="b")
    driver.fail_all()
    driver.heartbeat(old, instance_id="b")


def test_a_replacement_overtaken_by_a_rebalance_joins_again(driver: Driver) -> None:
    leader, _ = stable_pair(driver)
    driver.writes_at_once = False
    ticket = driver.join(instance_id="b")
    driver.join(leader, instance_id="a")
    driver.write_all()
    new = driver.joined(ticket).member_id
    with pytest.raises(RebalanceInProgress):
        driver.heartbeat(new, generation=1, instance_id="b")


def test_a_static_member_stays_static_over_a_restart_of_the_broker(driver: Driver) -> None:
    _, follower = stable_pair(driver)
    metadata = driver.group.ledger.metadata
    assert metadata is not None
    driver.group.loaded(driver.now)
    assert driver.group.state is GroupState.STABLE
    driver.heartbeat(follower, instance_id="b")
    reply = driver.joined(driver.join(instance_id="b"))
    assert replace(reply, member_id="") == replace(reply, member_id="", generation=1)
