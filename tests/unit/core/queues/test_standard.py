"""Standard queues without message groups."""

from dataclasses import replace

import pytest
from tests.unit.core.queues.desk import FIFO, HIDDEN_MS, STANDARD, START_MS, Desk

from duolog.core.queues.delivery import Delivery
from duolog.records.changes import Delivered, Replayed, Trimmed, VisibilityChanged


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_messages_go_out_in_the_order_they_came(desk: Desk) -> None:
    desk.send(3)
    desk.delivery.enqueue_range(3, 6, desk.now_ms)
    assert desk.receive(10) == [0, 1, 2, 3, 4, 5]
    assert desk.counts() == (0, 6, 0)


def test_a_message_is_hidden_until_its_deadline(desk: Desk) -> None:
    desk.send()
    desk.receive()
    assert desk.receive() == []
    assert not desk.wait(HIDDEN_MS - 1)
    assert desk.state(0) == "in_flight"
    assert desk.wait(1)
    assert desk.state(0) == "ready"
    assert desk.receive() == [0]
    assert desk.held(0).receive_count == 2
    assert desk.held(0).first_received_ms == START_MS


def test_choosing_notices_that_time_has_passed(desk: Desk) -> None:
    desk.send()
    desk.receive()
    desk.now_ms += HIDDEN_MS
    assert desk.receive() == [0]
    assert desk.wait(0), "and a waiting consumer still hears of it"


def test_choosing_changes_nothing(desk: Desk) -> None:
    desk.send(5)
    assert desk.delivery.choose(3, desk.now_ms) == desk.delivery.choose(3, desk.now_ms)
    assert desk.counts() == (5, 0, 0)


def test_a_deleted_message_never_comes_back(desk: Desk) -> None:
    desk.send(2)
    desk.receive(2)
    desk.delete(0)
    assert desk.state(0) == "done"
    assert desk.delivery.held(0) is None
    desk.wait(HIDDEN_MS)
    assert desk.receive(10) == [1]


def test_a_message_can_be_deleted_after_its_deadline_and_before_it_was_received(
    desk: Desk,
) -> None:
    desk.send(3)
    desk.receive()
    desk.wait(HIDDEN_MS)
    desk.delete(0, 2, 77)
    assert desk.receive_all() == [1]


def test_visibility_can_be_prolonged_and_ended(desk: Desk) -> None:
    desk.send(2)
    desk.receive(2)
    desk.hide(0, 2 * HIDDEN_MS)
    desk.hide(1, 0)
    assert desk.receive(10) == [1]
    desk.wait(HIDDEN_MS)
    assert desk.state(0) == "in_flight"
    assert desk.delivery.next_deadline_ms() == START_MS + 2 * HIDDEN_MS
    desk.wait(HIDDEN_MS)
    assert desk.state(0) == "ready"


def test_a_change_of_visibility_that_arrives_just_too_late_still_counts(desk: Desk) -> None:
    desk.send()
    desk.receive()
    desk.wait(HIDDEN_MS)
    desk.hide(0, 5_000)
    assert desk.state(0) == "in_flight"
    assert desk.held(0).receive_count == 1


def test_visibility_of_a_message_that_was_never_received_cannot_be_changed(desk: Desk) -> None:
    desk.send()
    desk.hide(0, 5_000)
    assert desk.state(0) == "ready"


def test_returned_and_fresh_messages_take_turns(desk: Desk) -> None:
    desk.send(3)
    desk.receive(3, hidden_ms=1)
    desk.send(6)
    desk.wait(1)
    received = desk.receive_all()
    assert received == [0, 3, 1, 4, 2, 5, 6, 7, 8]
    assert desk.receive() == []


def test_a_message_that_fails_at_once_does_not_keep_others_waiting(desk: Desk) -> None:
    desk.send(5)
    received = []
    for _ in range(9):
        (offset,) = desk.receive()
        received.append(offset)
        if offset == 0:
            desk.hide(0, 0)
        else:
            desk.delete(offset)
    assert {0, 1, 2, 3, 4} <= set(received)


def test_a_delayed_message_waits_for_its_time(desk: Desk) -> None:
    desk.send(2, delay_ms=5_000)
    desk.send()
    assert desk.counts() == (1, 0, 2)
    assert desk.receive(10) == [2]
    assert desk.delivery.next_deadline_ms() == START_MS + 5_000
    assert desk.wait(5_000)
    assert desk.receive(10) == [0, 1]


def test_no_more_than_the_limit_is_in_flight() -> None:
    desk = Desk(replace(STANDARD, in_flight_max=3))
    desk.send(5)
    assert len(desk.receive(10)) == 3
    assert desk.delivery.is_over_limit
    assert desk.receive() == []
    desk.delete(0)
    assert not desk.delivery.is_over_limit
    assert desk.receive(10) == [3]


def test_a_message_received_too_often_is_dead_when_it_would_be_visible() -> None:
    desk = Desk(replace(STANDARD, receive_count_max=2))
    desk.send(2)
    for _ in range(2):
        assert 0 in desk.receive(2, hidden_ms=1_000)
        assert desk.delivery.dead() == ()
        desk.wait(1_000)
    assert desk.delivery.dead() == (0, 1)
    assert desk.counts() == (0, 2, 0)
    assert desk.receive(10) == []
    desk.delete(0)
    assert desk.delivery.dead() == (1,)
    assert desk.counts() == (0, 1, 0)


def test_giving_a_message_back_at_once_can_be_its_last_time() -> None:
    desk = Desk(replace(STANDARD, receive_count_max=1))
    desk.send()
    desk.receive()
    desk.hide(0, 0)
    assert desk.delivery.dead() == (0,)
    assert desk.state(0) == "dead"


def test_dead_messages_are_ready_again_without_a_place_to_go() -> None:
    desk = Desk(replace(STANDARD, receive_count_max=1))
    desk.send()
    desk.receive(hidden_ms=1_000)
    desk.wait(1_000)
    desk.delivery.revive()
    assert desk.wait(0)
    assert desk.receive() == [0]


def test_another_receive_limit_is_applied_to_what_has_returned(desk: Desk) -> None:
    desk.send(2)
    desk.receive(hidden_ms=1_000)
    desk.wait(1_000)
    desk.limit(1)
    assert desk.delivery.dead() == (0,)
    desk.limit(2)
    assert desk.delivery.dead() == ()
    assert desk.counts() == (2, 0, 0)


def test_trimming_ends_everything_below(desk: Desk) -> None:
    desk.send(4, delay_ms=5_000)
    desk.send(4)
    desk.receive(2)
    desk.delivery.apply(Trimmed(6))
    assert desk.counts() == (2, 0, 0)
    assert desk.delivery.low_offset() == 6
    assert desk.delivery.undone(0, 10) == [6, 7]
    desk.wait(60_000)
    assert desk.receive_all() == [6, 7]


def test_what_is_undone_is_listed_from_any_offset(desk: Desk) -> None:
    desk.send(4)
    desk.send(2, delay_ms=5_000)
    desk.receive(2)
    desk.delete(0)
    assert desk.delivery.undone(0, 3) == [1, 2, 3]
    assert desk.delivery.undone(3, 10) == [3, 4, 5]
    assert desk.delivery.undone(6, 10) == []


def test_a_replay_brings_back_only_what_is_done(desk: Desk) -> None:
    desk.send(5)
    desk.receive(3)
    desk.delete(0, 2)
    desk.delivery.apply(Replayed(0, 4, desk.now_ms))
    assert desk.counts() == (4, 1, 0)
    assert desk.state(1) == "in_flight"
    assert desk.delivery.held(0) is None, "its receive count starts anew"
    assert desk.receive_all() == [0, 2, 3, 4]


def test_a_replay_ends_where_the_known_messages_do(desk: Desk) -> None:
    desk.send(2)
    desk.delete(0, 1)
    desk.delivery.apply(Replayed(1, 1_000_000, desk.now_ms))
    assert desk.counts() == (1, 0, 0)


def test_messages_that_are_known_are_not_enqueued_again(desk: Desk) -> None:
    desk.send(5)
    desk.delete(0)
    desk.delivery.enqueue_range(0, 7, desk.now_ms)
    desk.delivery.enqueue(3, desk.now_ms, group=None)
    assert desk.receive_all() == [1, 2, 3, 4, 5, 6]


def test_offsets_that_were_left_out_are_done(desk: Desk) -> None:
    desk.delivery.enqueue_range(5, 7, desk.now_ms)
    assert desk.state(4) == "done"
    assert desk.state(5) == "ready"
    assert desk.state(7) == "unknown"


def test_truncation_forgets_what_is_past_the_end(desk: Desk) -> None:
    desk.send(6)
    desk.send(2, delay_ms=5_000)
    desk.receive(5)
    desk.wait(HIDDEN_MS)
    desk.receive(1)
    desk.delivery.truncate(3)
    assert desk.counts()[0] + desk.counts()[1] == 3
    assert desk.state(3) == "unknown"
    assert desk.send(2) == [3, 4]
    assert desk.delivery.held(3) is None
    assert desk.state(4) == "ready"


def test_only_what_is_older_than_retention_expires() -> None:
    desk = Desk(replace(STANDARD, retention_ms=60_000))
    desk.send(2)
    desk.wait(30_000)
    desk.send(2)
    assert desk.delivery.expired_before(START_MS + 60_000) == 0
    assert desk.delivery.expired_before(START_MS + 61_000) == 2
    assert desk.delivery.expired_before(START_MS + 91_000) == 4
    assert desk.delivery.oldest_sent_ms() == START_MS
    desk.delete(0, 1)
    assert desk.delivery.oldest_sent_ms() == START_MS + 30_000
    desk.delete(2, 3)
    assert desk.delivery.oldest_sent_ms() is None


def test_what_is_replayed_does_not_expire_again_at_once() -> None:
    desk = Desk(replace(STANDARD, retention_ms=60_000))
    desk.send(4)
    desk.wait(120_000)
    desk.delivery.apply(Trimmed(4))
    desk.delivery.apply(Replayed(1, 3, desk.now_ms))
    assert desk.delivery.expired_before(desk.now_ms) == 1
    desk.wait(30_000)
    assert desk.delivery.expired_before(desk.now_ms) == 1
    desk.wait(31_000)
    assert desk.delivery.expired_before(desk.now_ms) == 4


def test_a_message_is_found_by_the_time_it_was_sent(desk: Desk) -> None:
    desk.send(2)
    desk.wait(10_000)
    desk.send(2)
    assert desk.delivery.offset_at(START_MS) == 0
    assert desk.delivery.offset_at(START_MS + 1_000) == 2
    assert desk.delivery.offset_at(START_MS + 11_000) == 4
    desk.delivery.forget_sent_before(2)
    assert desk.delivery.offset_at(START_MS) == 0, "messages below are still undone"
    desk.delete(0, 1)
    desk.delivery.forget_sent_before(2)
    assert desk.delivery.offset_at(START_MS) == 2


def test_recovery_counts_a_delivery_whose_end_nobody_wrote_down(desk: Desk) -> None:
    recovered = Delivery(STANDARD)
    recovered.enqueue(0, START_MS, group=None, due_ms=START_MS + 5_000)
    for attempt in range(1, 4):
        now_ms = START_MS + attempt * 60_000
        recovered.apply(Delivered((0,), now_ms, now_ms + HIDDEN_MS))
        held = recovered.held(0)
        assert held is not None
        assert held.receive_count == attempt
        assert held.first_received_ms == START_MS + 60_000
    assert (recovered.ready_count, recovered.in_flight_count) == (0, 1)
    recovered.apply(VisibilityChanged(0, START_MS + 300_000))
    recovered.tick(START_MS + 299_999)
    assert recovered.state_of(0, START_MS + 299_999) == "in_flight"


def test_a_million_waiting_messages_take_next_to_no_memory(desk: Desk) -> None:
    desk.delivery.enqueue_range(0, 1_000_000, desk.now_ms)
    assert desk.counts() == (1_000_000, 0, 0)
    assert len(desk.delivery.snapshot()) < 300


def test_a_queue_does_not_become_fifo(desk: Desk) -> None:
    with pytest.raises(AssertionError):
        desk.delivery.rules = FIFO
