"""Fair queues: standard queues in which a noisy group does not keep the others waiting."""

import pytest
from tests.unit.core.queues.desk import HIDDEN_MS, Desk

from duolog.core.queues.noise import IN_FLIGHT_MIN, QUIET_AFTER_MS
from duolog.records.changes import Replayed, Trimmed

NOISY, QUIET, OTHER = b"noisy", b"quiet", b"other"


@pytest.fixture
def desk() -> Desk:
    return Desk()


def make_noise(desk: Desk, backlog: int = 20) -> list[int]:
    """Leaves a group with too much in flight, and a backlog, which is returned."""
    sent = desk.send(IN_FLIGHT_MIN + backlog, group=NOISY)
    assert desk.receive(IN_FLIGHT_MIN, hidden_ms=QUIET_AFTER_MS * 2) == sent[:IN_FLIGHT_MIN]
    return sent[IN_FLIGHT_MIN:]


def test_without_noise_the_oldest_goes_first_whatever_its_group(desk: Desk) -> None:
    desk.send(1)
    desk.send(2, group=QUIET)
    desk.send(1)
    desk.send(1, group=OTHER)
    assert desk.receive(2) == [0, 1]
    assert desk.receive_all() == [2, 3, 4]


def test_groups_do_not_lock_each_other_or_themselves(desk: Desk) -> None:
    desk.send(5, group=QUIET)
    assert desk.receive_all() == [0, 1, 2, 3, 4]


def test_quiet_groups_go_before_a_noisy_one(desk: Desk) -> None:
    backlog = make_noise(desk)
    quiet = desk.send(2, group=QUIET) + desk.send(1) + desk.send(1, group=OTHER)
    assert desk.receive(6) == quiet + backlog[:2]
    assert desk.receive_all() == backlog[2:]


def test_a_group_with_few_in_flight_is_not_noisy(desk: Desk) -> None:
    backlog = desk.send(IN_FLIGHT_MIN + 4, group=NOISY)
    desk.receive(IN_FLIGHT_MIN - 1)
    desk.send(1, group=QUIET)
    assert desk.receive() == [backlog[IN_FLIGHT_MIN - 1]]


def test_a_group_with_a_small_share_of_what_is_in_flight_is_not_noisy(desk: Desk) -> None:
    desk.send(IN_FLIGHT_MIN * 10)
    desk.receive(IN_FLIGHT_MIN * 10)
    backlog = desk.send(IN_FLIGHT_MIN + 2, group=NOISY)
    desk.receive(IN_FLIGHT_MIN)
    desk.send(1, group=QUIET)
    assert desk.receive() == [backlog[IN_FLIGHT_MIN]]


def test_a_group_that_takes_most_of_the_processing_time_is_noisy(desk: Desk) -> None:
    """Five consumers are all busy with long tasks of one group."""
    backlog = desk.send(20, group=NOISY)
    for _ in range(3):
        working = desk.receive(5, hidden_ms=120_000)
        desk.wait(40_000)
        desk.delete(*working)
    quiet = desk.send(2, group=QUIET)
    assert desk.receive(4) == quiet + backlog[15:17]


def test_when_all_groups_take_their_share_none_is_noisy(desk: Desk) -> None:
    groups = [b"%d" % number for number in range(20)]
    for _ in range(5):
        for group in groups:
            desk.send(group=group)
    expected = 0
    while working := desk.receive(4, hidden_ms=120_000):
        assert working == list(range(expected, expected + 4))
        expected += 4
        desk.wait(10_000)
        desk.delete(*working)


def test_returned_messages_of_a_noisy_group_wait_as_well(desk: Desk) -> None:
    backlog = make_noise(desk)
    desk.hide(0, 0)
    desk.hide(1, 0)
    quiet = desk.send(2, group=QUIET)
    assert desk.receive(2) == quiet
    assert set(desk.receive(4)) == {0, 1, *backlog[:2]}


def test_a_group_is_quiet_again_when_its_backlog_is_gone(desk: Desk) -> None:
    make_noise(desk, backlog=2)
    desk.receive(2)
    again = desk.send(2, group=NOISY)
    desk.send(1, group=QUIET)
    assert desk.receive() == again[:1]


def test_a_group_is_quiet_again_when_nothing_was_sent_for_five_minutes(desk: Desk) -> None:
    backlog = make_noise(desk)
    desk.hide(0, 0)
    desk.wait(QUIET_AFTER_MS - 1)
    quiet = desk.send(20, group=QUIET)
    assert desk.receive() == quiet[:1]
    desk.wait(1)
    assert {0, backlog[0]} == set(desk.receive(2))


def test_a_restart_does_not_make_a_group_quiet(desk: Desk) -> None:
    backlog = make_noise(desk)
    quiet = desk.send(1, group=QUIET)
    desk.restart()
    assert desk.receive(2) == quiet + backlog[:1]


def test_a_delayed_message_keeps_its_group(desk: Desk) -> None:
    desk.send(2, group=QUIET, delay_ms=5_000)
    desk.send(1, delay_ms=5_000)
    desk.restart()
    desk.wait(5_000)
    assert desk.receive(10) == [0, 1, 2]
    assert [desk.held(offset).group for offset in range(3)] == [QUIET, QUIET, None]


def test_a_replayed_message_keeps_its_group(desk: Desk) -> None:
    desk.send(2, group=QUIET)
    desk.send(2)
    desk.delete(0, 1, 2, 3)
    desk.delivery.apply(Replayed(0, 4, desk.now_ms, ((QUIET, (0, 1)),)))
    assert desk.receive(10) == [0, 1, 2, 3]
    assert [desk.held(offset).group for offset in range(4)] == [QUIET, QUIET, None, None]


def test_trimming_and_truncation_reach_into_every_group(desk: Desk) -> None:
    desk.send(3, group=QUIET)
    desk.send(3, group=OTHER)
    desk.send(3)
    desk.send(1, group=OTHER)
    desk.delivery.apply(Trimmed(4))
    desk.delivery.truncate(9)
    assert desk.counts() == (5, 0, 0)
    assert desk.receive(10) == [4, 5, 6, 7, 8]


def test_groups_are_forgotten_with_their_last_message(desk: Desk) -> None:
    for number in range(100):
        desk.send(group=b"%d" % number)
        desk.receive(hidden_ms=1_000)
        desk.wait(1_000)
        desk.delete(*desk.receive())
    assert desk.delivery._waiting._lanes == {}  # type: ignore[attr-defined]


def test_a_message_of_a_quiet_group_that_keeps_failing_lets_others_pass(desk: Desk) -> None:
    desk.send(3, group=QUIET)
    desk.send(2, group=OTHER)
    seen = set()
    for _ in range(10):
        for offset in desk.receive(hidden_ms=HIDDEN_MS):
            seen.add(offset)
            if offset == 0:
                desk.hide(0, 0)
    assert seen == {0, 1, 2, 3, 4}
