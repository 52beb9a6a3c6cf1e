import pytest
from tests.fakes.group_driver import Driver, subscription

from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import MemberProtocol, Outcome
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState
from duolog.model.errors import (
    GroupNotEmpty,
    GroupSubscribedToTopic,
    IllegalGeneration,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    UnknownMember,
)

DAY_MS = 24 * 3600 * 1000
T0 = TopicPartition("t", 0)


def offsets(driver: Driver) -> dict[tuple[str, int], int]:
    return {tuple(at): each.offset for at, each in driver.group.ledger.offsets.items()}


def test_a_commit_is_answered_and_seen_once_it_is_durable(driver: Driver) -> None:
    driver.writes_at_once = False
    ticket = driver.commit(5)
    assert ticket not in driver.answers
    assert offsets(driver) == {}
    driver.write_all()
    assert driver.answers[ticket] == Outcome()
    assert offsets(driver) == {("t", 0): 5}


def test_members_commit_with_their_generation(driver: Driver) -> None:
    (member,) = driver.stable(1)
    driver.commit(5, member_id=member, generation=1)
    assert offsets(driver) == {("t", 0): 5}
    with pytest.raises(IllegalGeneration):
        driver.commit(6, member_id=member, generation=0)
    with pytest.raises(UnknownMember):
        driver.commit(6, member_id="stranger", generation=1)


def test_outsiders_may_commit_only_while_nobody_is_in_the_group(driver: Driver) -> None:
    driver.commit(1)
    members = driver.stable(1)
    with pytest.raises(UnknownMember):
        driver.commit(2)
    driver.leave(*members)
    driver.commit(3)
    assert offsets(driver) == {("t", 0): 3}


def test_a_commit_is_taken_before_the_member_joins_again(driver: Driver) -> None:
    (member,) = driver.stable(1)
    driver.join()
    driver.commit(5, member_id=member, generation=1)
    assert offsets(driver) == {("t", 0): 5}


def test_a_commit_before_the_sync_is_refused(driver: Driver) -> None:
    ticket = driver.join()
    driver.pass_ms(100)
    with pytest.raises(RebalanceInProgress):
        driver.commit(5, member_id=driver.joined(ticket).member_id, generation=1)


def test_too_much_metadata_refuses_that_offset_only() -> None:
    driver = Driver(GroupSettings(offset_metadata_bytes_max=4))
    outcome = driver.answers[driver.commit(5, metadata="ééé")]
    assert isinstance(outcome, Outcome)
    assert isinstance(outcome.refused[T0], OffsetMetadataTooLarge)
    assert offsets(driver) == {}


def test_offsets_of_an_abandoned_group_expire_and_the_group_with_them(driver: Driver) -> None:
    members = driver.stable(1)
    driver.commit(5, member_id=members[0], generation=1)
    driver.leave(*members)
    driver.pass_ms(7 * DAY_MS - 1)
    driver.expire()
    assert offsets(driver) == {("t", 0): 5}
    driver.pass_ms(1)
    driver.expire()
    assert driver.group.ledger.is_blank
    assert driver.group.is_forgettable


def test_offsets_of_a_simple_group_expire_one_by_one(driver: Driver) -> None:
    driver.commit(1, partition=0)
    driver.pass_ms(DAY_MS)
    driver.commit(1, partition=1)
    driver.pass_ms(6 * DAY_MS)
    driver.expire()
    assert offsets(driver) == {("t", 1): 1}


def test_a_living_group_keeps_the_offsets_of_the_topics_it_reads() -> None:
    driver = Driver(GroupSettings(session_timeout_ms_max=99 * DAY_MS))
    (member,) = driver.stable(1, session_timeout_ms=99 * DAY_MS)
    driver.commit(1, topic="t", member_id=member, generation=1)
    driver.commit(1, topic="old", member_id=member, generation=1)
    driver.pass_ms(8 * DAY_MS)
    driver.expire()
    assert offsets(driver) == {("t", 0): 1}
    assert driver.group.state is GroupState.STABLE


def test_a_living_group_with_unreadable_metadata_keeps_everything() -> None:
    driver = Driver(GroupSettings(session_timeout_ms_max=99 * DAY_MS))
    protocols = (MemberProtocol("own", b"?"),)
    (member,) = driver.stable(1, session_timeout_ms=99 * DAY_MS, protocols=protocols)
    driver.commit(1, member_id=member, generation=1)
    driver.pass_ms(8 * DAY_MS)
    driver.expire()
    assert offsets(driver) == {("t", 0): 1}


def test_a_client_may_choose_the_retention(driver: Driver) -> None:
    driver.commit(1, retention_ms=1_000)
    driver.pass_ms(1_000)
    driver.expire()
    assert offsets(driver) == {}


def test_expiry_never_overtakes_a_commit_on_its_way(driver: Driver) -> None:
    driver.commit(1)
    driver.pass_ms(8 * DAY_MS)
    driver.writes_at_once = False
    driver.commit(2)
    driver.expire()
    driver.write_all()
    assert offsets(driver) == {("t", 0): 2}


def test_an_empty_group_without_offsets_disappears(driver: Driver) -> None:
    driver.leave(*driver.stable(1))
    assert not driver.group.is_forgettable
    driver.expire()
    assert driver.group.is_forgettable


def test_a_deleted_topic_takes_its_offsets_along(driver: Driver) -> None:
    driver.commit(1, topic="t")
    driver.commit(2, topic="u")
    driver.writes_at_once = False
    driver.commit(3, topic="t", partition=1)
    driver.perform(driver.group.topic_deleted("t"))
    driver.write_all()
    assert offsets(driver) == {("u", 0): 2}


def test_a_group_is_deleted_with_what_is_still_being_written(driver: Driver) -> None:
    driver.leave(*driver.stable(1))
    driver.writes_at_once = False
    driver.commit(1)
    ticket = driver.ticket()
    driver.perform(driver.group.delete(ticket))
    driver.write_all()
    assert driver.answers[ticket] == Outcome()
    assert driver.group.is_forgettable


def test_a_group_with_members_is_not_deleted(driver: Driver) -> None:
    driver.stable(1)
    with pytest.raises(GroupNotEmpty):
        driver.group.delete(driver.ticket())


def test_offsets_of_topics_that_are_read_are_not_deleted(driver: Driver) -> None:
    (member,) = driver.stable(1)
    driver.commit(1, topic="t", member_id=member, generation=1)
    driver.commit(1, topic="old", member_id=member, generation=1)
    ticket = driver.ticket()
    named = [T0, TopicPartition("old", 0), TopicPartition("never", 0)]
    driver.perform(driver.group.delete_offsets(named, ticket))
    outcome = driver.answers[ticket]
    assert isinstance(outcome, Outcome)
    assert list(outcome.refused) == [T0]
    assert isinstance(outcome.refused[T0], GroupSubscribedToTopic)
    assert offsets(driver) == {("t", 0): 1}


def test_offsets_of_members_that_are_no_consumers_are_not_deleted(driver: Driver) -> None:
    driver.stable(1, protocol_type="connect")
    with pytest.raises(GroupNotEmpty):
        driver.group.delete_offsets([T0], driver.ticket())


def test_a_failed_commit_changes_nothing(driver: Driver) -> None:
    driver.commit(1)
    driver.writes_at_once = False
    driver.commit(2)
    driver.fail_all()
    assert offsets(driver) == {("t", 0): 1}


def test_the_subscription_is_that_of_all_members(driver: Driver) -> None:
    driver.join(protocols=(MemberProtocol("range", subscription("a")),))
    second = driver.join(protocols=(MemberProtocol("range", subscription("b")),))
    driver.pass_ms(200)
    assert driver.joined(second)
    ticket = driver.ticket()
    named = [TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("c", 0)]
    driver.perform(driver.group.delete_offsets(named, ticket))
    outcome = driver.answers[ticket]
    assert isinstance(outcome, Outcome)
    assert [at.topic for at in outcome.refused] == ["a", "b"]
