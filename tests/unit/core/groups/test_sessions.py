import pytest
from tests.fakes.group_driver import Driver

from duolog.core.groups.state import GroupState
from duolog.model.errors import IllegalGeneration, RebalanceInProgress, UnknownMember


def test_heartbeats_keep_a_member(driver: Driver) -> None:
    (member,) = driver.stable(1)
    for _ in range(10):
        driver.pass_ms(9_000)
        driver.heartbeat(member)
    assert driver.group.state is GroupState.STABLE


def test_a_silent_member_is_removed_and_the_others_rebalance(driver: Driver) -> None:
    silent, alive = driver.stable(2)
    driver.pass_ms(9_000)
    driver.heartbeat(alive)
    driver.pass_ms(1_000)
    with pytest.raises(RebalanceInProgress):
        driver.heartbeat(alive)
    reply = driver.joined(driver.join(alive))
    assert reply.leader == alive
    with pytest.raises(UnknownMember):
        driver.heartbeat(silent)


def test_a_group_of_silent_members_becomes_empty(driver: Driver) -> None:
    driver.stable(3)
    driver.pass_ms(10_000)
    assert driver.group.state is GroupState.EMPTY
    assert driver.group.next_deadline_ms() is None


def test_commits_keep_a_member_too(driver: Driver) -> None:
    (member,) = driver.stable(1)
    for offset in range(5):
        driver.pass_ms(9_000)
        driver.commit(offset, member_id=member, generation=1)
    assert driver.group.state is GroupState.STABLE


def test_waiting_for_a_rebalance_costs_nobody_his_session(driver: Driver) -> None:
    patient, late = driver.stable(2)
    waiting = driver.join(patient)
    for _ in range(5):
        driver.pass_ms(9_000)
        with pytest.raises(RebalanceInProgress):
            driver.heartbeat(late)
    driver.join(late)
    assert len(driver.joined(waiting).members) == 2


def test_who_does_not_join_in_time_is_left_out(driver: Driver) -> None:
    punctual, late = driver.stable(2)
    waiting = driver.join(punctual)
    for _ in range(7):
        driver.pass_ms(8_999)
        if driver.group.state is GroupState.PREPARING_REBALANCE:
            with pytest.raises(RebalanceInProgress):
                driver.heartbeat(late)
    assert [each.id for each in driver.joined(waiting).members] == [punctual]
    with pytest.raises(UnknownMember):
        driver.heartbeat(late)


def test_a_leader_that_does_not_join_in_time_loses_the_lead(driver: Driver) -> None:
    leader, other = driver.stable(2)
    newcomer = driver.join()
    again = driver.join(other)
    driver.pass_ms(10_000)
    assert driver.joined(again).leader == other
    assert leader not in {each.id for each in driver.joined(again).members}
    assert driver.joined(newcomer).leader == other


def test_a_new_member_whose_client_went_away_does_not_wait_for_ever(driver: Driver) -> None:
    (alive,) = driver.stable(1, rebalance_timeout_ms=1_000_000)
    ghost = driver.join()
    for _ in range(34):
        driver.pass_ms(8_900)
        if driver.group.state is GroupState.PREPARING_REBALANCE:
            with pytest.raises(RebalanceInProgress):
                driver.heartbeat(alive)
    assert driver.refused(ghost) is UnknownMember


def test_a_heartbeat_of_another_generation_is_refused(driver: Driver) -> None:
    (member,) = driver.stable(1)
    with pytest.raises(IllegalGeneration):
        driver.heartbeat(member, generation=0)


def test_heartbeats_count_before_the_sync(driver: Driver) -> None:
    ticket = driver.join()
    driver.pass_ms(100)
    member = driver.joined(ticket).member_id
    driver.pass_ms(9_000)
    driver.heartbeat(member)
    driver.pass_ms(9_000)
    assert driver.group.state is GroupState.COMPLETING_REBALANCE
