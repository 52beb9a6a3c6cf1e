"""FIFO queues: order within groups, one consumer of a group at a time."""

from dataclasses import replace

import pytest
from tests.unit.core.queues.desk import FIFO, HIDDEN_MS, Desk

from duolog.core.queues.attempts import ATTEMPT_MS
from duolog.records.changes import Delivered, Replayed, Trimmed

A, B, C = b"a", b"b", b"c"


@pytest.fixture
def desk() -> Desk:
    return Desk(FIFO)


def test_a_group_is_locked_while_one_of_its_messages_is_in_flight(desk: Desk) -> None:
    desk.send(3, group=A)
    assert desk.receive() == [0]
    assert desk.receive() == []
    assert desk.counts() == (2, 1, 0)
    desk.delete(0)
    assert desk.receive() == [1]


def test_other_groups_go_on(desk: Desk) -> None:
    desk.send(2, group=A)
    desk.send(2, group=B)
    assert [desk.receive(), desk.receive(), desk.receive()] == [[0], [2], []]


def test_one_receive_takes_several_of_a_group_and_of_several_groups(desk: Desk) -> None:
    for _ in range(3):
        desk.send(1, group=A)
        desk.send(1, group=B)
    assert desk.receive(4) == [0, 2, 4, 1]
    assert desk.receive(4) == []
    desk.delete(1)
    assert desk.receive(4) == [3, 5]


def test_a_group_is_free_only_when_all_of_a_receive_is_settled(desk: Desk) -> None:
    desk.send(3, group=A)
    assert desk.receive(2) == [0, 1]
    desk.delete(1)
    assert desk.receive() == []
    desk.delete(0)
    assert desk.receive() == [2]


def test_a_returned_message_goes_back_to_its_place(desk: Desk) -> None:
    desk.send(4, group=A)
    desk.receive(3)
    desk.delete(1)
    desk.hide(2, 0)
    assert desk.receive() == []
    desk.hide(0, 0)
    assert desk.receive(10) == [0, 2, 3]


def test_a_delayed_message_blocks_those_behind_it(desk: Desk) -> None:
    desk.send(group=A)
    desk.send(group=A, delay_ms=5_000)
    desk.send(group=A)
    desk.send(group=B)
    assert desk.receive(10) == [0, 3]
    desk.delete(0, 3)
    assert desk.receive(10) == []
    assert desk.counts() == (1, 0, 1)
    assert desk.wait(5_000)
    assert desk.receive(10) == [1, 2]


def test_a_dead_message_does_not_block_its_group() -> None:
    desk = Desk(replace(FIFO, receive_count_max=1))
    desk.send(2, group=A)
    desk.receive(hidden_ms=1_000)
    assert desk.wait(1_000)
    assert desk.delivery.dead() == (0,)
    assert desk.receive() == [1]
    desk.delete(1)
    desk.delivery.revive()
    assert desk.receive() == [0]


def test_messages_without_a_group_share_one(desk: Desk) -> None:
    desk.delivery.enqueue_range(0, 2, desk.now_ms)
    desk.send()
    desk.send(group=b"")
    assert desk.receive() == [0]
    assert desk.receive() == []
    desk.delete(0)
    assert desk.receive(10) == [1, 2, 3]


def test_a_range_without_groups_can_be_delayed(desk: Desk) -> None:
    desk.delivery.enqueue_range(0, 3, desk.now_ms, desk.now_ms + 5_000)
    assert desk.counts() == (0, 0, 3)
    assert desk.receive() == []
    desk.wait(5_000)
    assert desk.receive(10) == [0, 1, 2]


def test_the_limit_of_messages_in_flight_ends_a_receive() -> None:
    desk = Desk(replace(FIFO, in_flight_max=2))
    desk.send(3, group=A)
    assert desk.receive(10) == [0, 1]
    desk.send(group=B)
    assert desk.receive() == []


def test_a_message_deleted_in_the_middle_of_its_group_is_passed_over(desk: Desk) -> None:
    desk.send(5, group=A)
    desk.delete(2, 3)
    assert desk.counts() == (3, 0, 0)
    assert desk.receive(10) == [0, 1, 4]
    desk.delete(0, 1, 4)
    assert not desk.delivery.has_group(A)


def test_a_replayed_message_goes_back_to_its_place(desk: Desk) -> None:
    desk.send(6, group=A)
    desk.receive(2)
    desk.delete(0, 1, 3)
    desk.delivery.apply(Replayed(0, 4, desk.now_ms, ((A, (0, 1, 3)),)))
    assert desk.receive(10) == [0, 1, 2, 3, 4, 5]


def test_a_replayed_group_comes_back_with_its_name(desk: Desk) -> None:
    desk.send(2, group=A)
    desk.send(2, group=B)
    desk.delete(0, 1, 2, 3)
    desk.delivery.apply(Replayed(0, 4, desk.now_ms, ((A, (0, 1)), (B, (2, 3)))))
    assert [desk.receive(), desk.receive(), desk.receive()] == [[0], [2], []]
    assert desk.held(2).group == B


def test_trimming_frees_a_group_whose_message_was_in_flight(desk: Desk) -> None:
    desk.send(3, group=A)
    desk.send(1, group=B)
    desk.receive()
    desk.delivery.apply(Trimmed(2))
    assert desk.receive(10) == [2, 3]
    desk.delivery.apply(Trimmed(4))
    assert desk.counts() == (0, 0, 0)
    assert not desk.delivery.has_group(A)


def test_truncation_takes_the_end_of_each_group(desk: Desk) -> None:
    desk.send(2, group=A)
    desk.send(2, group=B)
    desk.send(1, group=A)
    desk.delivery.truncate(3)
    assert desk.counts() == (3, 0, 0)
    assert desk.receive(10) == [0, 1, 2]


def test_groups_are_forgotten_with_their_last_message(desk: Desk) -> None:
    for number in range(100):
        desk.send(group=b"%d" % number)
        desk.delete(*desk.receive())
    assert desk.delivery._waiting._lanes == {}  # type: ignore[attr-defined]
    assert desk.delivery._waiting._heads == {}  # type: ignore[attr-defined]


def test_a_long_lane_is_served_in_order_whatever_returns(desk: Desk) -> None:
    desk.send(1_000, group=A)
    received = []
    while offsets := desk.receive(10):
        for offset in offsets[3:]:
            desk.hide(offset, 0)
        desk.delete(*offsets[:3])
        received += offsets[:3]
    assert received == list(range(1_000))


def test_a_receive_can_be_repeated_by_name(desk: Desk) -> None:
    desk.send(3, group=A)
    desk.delivery.apply(Delivered((0, 1), desk.now_ms, desk.now_ms + HIDDEN_MS, b"try"))
    assert desk.delivery.find_attempt(b"try", desk.now_ms) == (0, 1)
    assert desk.delivery.find_attempt(b"other", desk.now_ms) is None
    desk.restart()
    assert desk.delivery.find_attempt(b"try", desk.now_ms) == (0, 1)


@pytest.mark.parametrize("end", ["deleted", "visible", "timed out", "trimmed"])
def test_a_receive_cannot_be_repeated_once_a_message_of_it_is_settled(desk: Desk, end: str) -> None:
    desk.send(3, group=A)
    desk.delivery.apply(Delivered((0, 1), desk.now_ms, desk.now_ms + HIDDEN_MS, b"try"))
    match end:
        case "deleted":
            desk.delete(1)
        case "visible":
            desk.hide(1, 0)
        case "timed out":
            desk.now_ms += HIDDEN_MS
        case "trimmed":
            desk.delivery.apply(Trimmed(1))
    assert desk.delivery.find_attempt(b"try", desk.now_ms) is None


def test_the_name_of_a_receive_is_kept_for_five_minutes(desk: Desk) -> None:
    desk.send(group=A)
    desk.delivery.apply(Delivered((0,), desk.now_ms, desk.now_ms + 2 * ATTEMPT_MS, b"try"))
    desk.wait(ATTEMPT_MS - 1)
    assert desk.delivery.find_attempt(b"try", desk.now_ms) == (0,)
    desk.wait(1)
    assert desk.delivery.find_attempt(b"try", desk.now_ms) is None


def test_a_name_that_is_used_again_stands_for_the_newer_receive(desk: Desk) -> None:
    desk.send(group=A)
    desk.send(group=B)
    for offset in (0, 1):
        deadline_ms = desk.now_ms + HIDDEN_MS
        desk.delivery.apply(Delivered((offset,), desk.now_ms, deadline_ms, b"try"))
    desk.delete(0)
    assert desk.delivery.find_attempt(b"try", desk.now_ms) == (1,)
