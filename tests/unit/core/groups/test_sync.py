import pytest
from tests.fakes.group_driver import Driver

from duolog.core.groups.messages import MemberIdentity
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState
from duolog.model.errors import (
    CoordinatorNotAvailable,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidRequest,
    RebalanceInProgress,
    UnknownMember,
)


def joined_pair(driver: Driver) -> tuple[str, str]:
    tickets = [driver.join(), driver.join()]
    driver.pass_ms(200)
    leader, follower = (driver.joined(ticket).member_id for ticket in tickets)
    return leader, follower


def test_followers_wait_for_the_leaders_assignment(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    waiting = driver.sync(follower)
    assert waiting not in driver.answers
    own = driver.sync(leader, {leader: b"L", follower: b"F"})
    assert driver.synced(waiting).assignment == b"F"
    assert driver.synced(own).assignment == b"L"
    assert driver.synced(own).protocol == "range"
    assert driver.group.state is GroupState.STABLE


def test_a_follower_that_syncs_later_gets_its_part_at_once(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    driver.sync(leader, {follower: b"F"})
    assert driver.synced(driver.sync(follower)).assignment == b"F"


def test_a_member_that_the_leader_left_out_gets_nothing(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    driver.sync(leader, {leader: b"L"})
    assert driver.synced(driver.sync(follower)).assignment == b""


def test_nobody_is_told_before_the_assignment_is_durable(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    driver.writes_at_once = False
    tickets = [driver.sync(follower), driver.sync(leader, {leader: b"L"})]
    assert not any(ticket in driver.answers for ticket in tickets)
    assert driver.group.state is GroupState.COMPLETING_REBALANCE
    driver.write_all()
    assert all(ticket in driver.answers for ticket in tickets)


def test_an_assignment_that_comes_to_disk_too_late_is_not_used(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    driver.writes_at_once = False
    waiting = driver.sync(leader, {leader: b"L"})
    driver.join()
    assert driver.refused(waiting) is RebalanceInProgress
    driver.write_all()
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    driver.join(leader)
    driver.join(follower)
    assert driver.group.generation == 2
    assert driver.group.state is GroupState.COMPLETING_REBALANCE


def test_a_leader_that_syncs_twice_writes_once(driver: Driver) -> None:
    leader, _ = joined_pair(driver)
    driver.writes_at_once = False
    first = driver.sync(leader, {leader: b"one"})
    second = driver.sync(leader, {leader: b"two"})
    assert len(driver.pending_writes) == 1
    driver.write_all()
    assert driver.refused(first) is RebalanceInProgress
    assert driver.synced(second).assignment == b"one"


def test_a_failed_write_takes_the_group_back_to_what_is_durable(driver: Driver) -> None:
    members = driver.stable(2)
    driver.writes_at_once = False
    for each in members:
        driver.join(each)
    assert driver.group.generation == 2
    waiting = driver.sync(members[1])
    driver.sync(members[0], {})
    driver.fail_all()
    assert driver.refused(waiting) is CoordinatorNotAvailable
    assert driver.group.generation == 1
    assert driver.group.state is GroupState.STABLE
    driver.heartbeat(members[0])


def test_a_new_member_during_sync_sends_everybody_back_to_join(driver: Driver) -> None:
    _, follower = joined_pair(driver)
    waiting = driver.sync(follower)
    driver.join()
    assert driver.refused(waiting) is RebalanceInProgress
    with pytest.raises(RebalanceInProgress):
        driver.sync(follower)


def test_a_leader_that_dies_before_its_sync_is_replaced(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    waiting = driver.sync(follower)
    driver.pass_ms(10_000)
    assert driver.refused(waiting) is RebalanceInProgress
    reply = driver.joined(driver.join(follower))
    assert reply.leader == follower
    assert [each.id for each in reply.members] == [follower]
    with pytest.raises(UnknownMember):
        driver.heartbeat(leader)


def test_a_member_that_heartbeats_but_never_syncs_is_removed(driver: Driver) -> None:
    leader, follower = joined_pair(driver)
    driver.sync(leader, {})
    for _ in range(6):
        driver.pass_ms(9_000)
        driver.heartbeat(leader)
        driver.heartbeat(follower)
    driver.pass_ms(9_000)
    assert driver.group.state is GroupState.PREPARING_REBALANCE
    with pytest.raises(UnknownMember):
        driver.heartbeat(follower)


def test_sync_of_another_generation_is_refused(driver: Driver) -> None:
    leader, _ = joined_pair(driver)
    with pytest.raises(IllegalGeneration):
        driver.sync(leader, generation=7)


@pytest.mark.parametrize("changes", [{"protocol": "sticky"}, {"protocol_type": "connect"}])
def test_sync_for_another_protocol_is_refused(driver: Driver, changes: dict[str, str]) -> None:
    leader, _ = joined_pair(driver)
    with pytest.raises(InconsistentGroupProtocol):
        driver.sync(leader, **changes)


def test_sync_of_a_stranger_is_refused(driver: Driver) -> None:
    joined_pair(driver)
    with pytest.raises(UnknownMember):
        driver.sync("stranger")
    with pytest.raises(UnknownMember):
        driver.sync("", identity=MemberIdentity("", "instance"))


def test_assignments_are_bounded() -> None:
    driver = Driver(GroupSettings(member_bytes_max=1_000, group_bytes_max=1_500))
    leader, follower = joined_pair(driver)
    with pytest.raises(InvalidRequest):
        driver.sync(leader, {leader: bytes(1_001)})
    with pytest.raises(InvalidRequest):
        driver.sync(leader, {leader: bytes(1_000), follower: bytes(1_000)})
    assert driver.group.state is GroupState.COMPLETING_REBALANCE
