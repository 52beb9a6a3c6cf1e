"""Queues as their clients have them: sent, received, settled, through time and crashes."""

from base64 import b64encode

import pytest
from tests.fakes.queue_house import ARN, QueueHouse, bodies, grouped, plain

from duolog.core.queues import delivery
from duolog.core.queues.message import MessageAttribute, Outgoing
from duolog.model.errors import PolicyViolation
from duolog.model.queue_errors import (
    InvalidParameterValue,
    MessageNotInflight,
    PurgeQueueInProgress,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
)
from duolog.records.builder import build_batch
from duolog.records.record import Record


def test_a_message_is_received_once_and_gone_when_deleted(house: QueueHouse) -> None:
    house.create("work")
    (sent,) = house.send("work", Outgoing("hello", {"n": MessageAttribute("Number", b"7")}))
    (received,) = house.receive("work", 10)
    assert received.message.body == "hello"
    assert received.message.attributes == {"n": MessageAttribute("Number", b"7")}
    assert received.message_id == sent.message_id
    assert received.receive_count == 1
    assert house.receive("work", 10) == []
    assert house.queue("work").counts() == (0, 1, 0)
    assert house.delete("work", received.receipt_handle) == [None]
    house.advance(60_000)
    assert house.receive("work", 10) == []
    assert house.queue("work").counts() == (0, 0, 0)


def test_what_a_kafka_producer_sends_in_between_is_always_readable(house: QueueHouse) -> None:
    house.create("work")
    for restarts in (False, True):
        house.send("work", *plain("before\n"))
        batch = build_batch([Record(value=b"a\x01b", timestamp=0)])
        house.run(house.queue("work").partitions[0].data.append(batch))
        house.send("work", *plain("behind"))
        if restarts:
            house.restart()
        received = house.receive("work", 10)
        assert bodies(received) == ["before\n", b64encode(b"a\x01b").decode(), "behind"]
        house.delete("work", *(each.receipt_handle for each in received))


def test_a_message_that_is_not_deleted_comes_again(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("a"))
    (first,) = house.receive("work", visibility_ms=5_000)
    house.advance(4_999)
    assert house.receive("work") == []
    house.advance(1)
    (second,) = house.receive("work")
    assert (second.message_id, second.receive_count) == (first.message_id, 2)
    assert second.first_received_ms == first.first_received_ms


def test_a_stale_receipt_never_deletes_a_newer_delivery(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("a"))
    (first,) = house.receive("work", visibility_ms=1_000)
    house.advance(1_000)
    (second,) = house.receive("work", visibility_ms=1_000)
    assert house.delete("work", first.receipt_handle) == [None]
    house.advance(1_000)
    assert bodies(house.receive("work", visibility_ms=0)) == ["a"]
    assert second.receipt_handle != first.receipt_handle


def test_a_receipt_of_another_queue_or_a_forged_one_is_refused(house: QueueHouse) -> None:
    house.create("one")
    house.create("two")
    house.send("one", *plain("a"))
    (received,) = house.receive("one")
    assert isinstance(house.delete("two", received.receipt_handle)[0], ReceiptHandleIsInvalid)
    forged = ("B" if received.receipt_handle[5] == "A" else "A").join(
        (received.receipt_handle[:5], received.receipt_handle[6:])
    )
    assert isinstance(house.delete("one", forged)[0], ReceiptHandleIsInvalid)
    nowhere = house.queue("one").state.receipts.encode(9, 0, 1, 0, 0)
    assert isinstance(house.delete("one", nowhere)[0], ReceiptHandleIsInvalid)
    assert house.queue("one").counts() == (0, 1, 0)


def test_a_delayed_message_comes_when_it_is_due(house: QueueHouse) -> None:
    house.create("work", DelaySeconds="10")
    house.send("work", Outgoing("later"), Outgoing("soon", delay_seconds=2))
    assert house.queue("work").counts() == (0, 0, 2)
    house.advance(2_000)
    assert bodies(house.receive("work", 10)) == ["soon"]
    house.advance(8_000)
    assert bodies(house.receive("work", 10)) == ["later"]


def test_a_long_poll_gets_the_message_at_once(house: QueueHouse) -> None:
    house.create("work")
    answers: list[object] = []
    house.park("work", answers)
    assert answers == []
    house.send("work", *plain("a"))
    assert [bodies(answer) for answer in answers] == [["a"]]


def test_a_long_poll_ends_with_nothing_when_nothing_comes(house: QueueHouse) -> None:
    house.create("work")
    answers: list[object] = []
    house.park("work", answers, wait_ms=3_000)
    house.advance(2_999)
    assert answers == []
    house.advance(1)
    assert answers == [[]]


def test_what_an_abandoned_long_poll_would_have_got_goes_to_another(house: QueueHouse) -> None:
    house.create("work")
    house.park("work", abandoned := []).abandon()
    house.park("work", answers := [])
    house.send("work", *plain("a"))
    assert abandoned == []
    assert [bodies(answer) for answer in answers] == [["a"]]


def test_deleting_the_queue_answers_who_waits_at_it(house: QueueHouse) -> None:
    house.create("work")
    house.park("work", answers := [])
    house.run(house.queues.delete("work"))
    (answer,) = answers
    assert isinstance(answer, QueueDoesNotExist)
    with pytest.raises(QueueDoesNotExist):
        house.queue("work")
    assert house.broker.catalog.topics.keys() == set()


def test_visibility_can_be_ended_and_prolonged(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("a"))
    (first,) = house.receive("work", visibility_ms=5_000)
    assert house.change_visibility("work", first.receipt_handle, 20_000) is None
    house.advance(19_000)
    assert house.receive("work") == []
    assert house.change_visibility("work", first.receipt_handle, 0) is None
    (second,) = house.receive("work", visibility_ms=1_000)
    assert isinstance(house.change_visibility("work", first.receipt_handle, 0), MessageNotInflight)
    house.delete("work", second.receipt_handle)
    assert isinstance(
        house.change_visibility("work", second.receipt_handle, 0), InvalidParameterValue
    )


def test_a_restart_forgets_neither_deadlines_nor_receive_counts(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("gone", "held", "ready"))
    gone, held = house.receive("work", 2, visibility_ms=10_000)
    house.delete("work", gone.receipt_handle)
    house.advance(4_000)
    house.crash()
    assert house.queue("work").counts() == (1, 1, 0)
    house.advance(5_999)
    assert bodies(house.receive("work", 10)) == ["ready"]
    house.advance(1)
    (again,) = house.receive("work", 10)
    assert (again.message.body, again.receive_count) == ("held", 2)
    assert again.first_received_ms == held.first_received_ms
    assert house.delete("work", again.receipt_handle) == [None]


def test_a_receipt_is_good_after_a_restart(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("a"))
    (held,) = house.receive("work")
    house.restart()
    assert house.delete("work", held.receipt_handle) == [None]
    assert house.queue("work").counts() == (0, 0, 0)


def test_at_most_once_means_gone_when_received(house: QueueHouse) -> None:
    house.create("work", **{"duolog:Delivery": "at-most-once"})
    house.send("work", *plain("a"))
    (received,) = house.receive("work")
    assert house.delete("work", received.receipt_handle) == [None]
    house.crash()
    house.advance(100_000)
    assert house.receive("work") == []


def test_a_group_of_a_fifo_queue_is_in_order_and_locked(house: QueueHouse) -> None:
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", *grouped("a", "1", "2", "3"), *grouped("b", "4"))
    first = house.receive("work.fifo", 2, visibility_ms=5_000)
    assert bodies(first) == ["1", "2"]
    assert bodies(house.receive("work.fifo", 10)) == ["4"]
    house.delete("work.fifo", first[0].receipt_handle)
    assert house.receive("work.fifo", 10) == []
    house.advance(5_000)
    assert bodies(house.receive("work.fifo", 10)) == ["2", "3"]
    numbers = [each.sequence_number for each in first]
    assert numbers == sorted(numbers)


def test_a_repetition_is_recognised_for_five_minutes_and_after_a_restart(
    house: QueueHouse,
) -> None:
    house.create("work.fifo", FifoQueue="true")
    (first,) = house.send("work.fifo", *grouped("a", "1"))
    (received,) = house.receive("work.fifo")
    house.delete("work.fifo", received.receipt_handle)
    house.crash()
    house.advance(299_000)
    assert house.send("work.fifo", *grouped("a", "1")) == [first]
    assert house.receive("work.fifo") == []
    house.advance(1_001)
    (second,) = house.send("work.fifo", *grouped("a", "1"))
    assert second != first
    assert bodies(house.receive("work.fifo")) == ["1"]


def test_equal_ids_in_one_batch_are_one_message(house: QueueHouse) -> None:
    house.create("work.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    first, second, third = house.send(
        "work.fifo", *(Outgoing(text, group_id="g") for text in ("x", "x", "y"))
    )
    assert first == second != third
    assert house.queue("work.fifo").counts() == (2, 0, 0)


def test_the_same_attempt_gets_the_same_messages(house: QueueHouse) -> None:
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", *grouped("a", "1", "2"))
    first = house.receive("work.fifo", 10, attempt="try")
    again = house.receive("work.fifo", 10, attempt="try")
    assert again == first
    assert house.receive("work.fifo", 10, attempt="another") == []


def test_the_same_attempt_gets_nothing_when_its_messages_are_gone(house: QueueHouse) -> None:
    house.create("work.fifo", FifoQueue="true")
    house.send("work.fifo", *grouped("a", "1", "2"))
    assert len(house.receive("work.fifo", 10, attempt="try")) == 2
    house.queue("work.fifo").partitions[0].data.log.advance_start(2)
    assert house.receive("work.fifo", 10, attempt="try") == []


def test_a_message_received_too_often_goes_to_the_dead_letter_queue(house: QueueHouse) -> None:
    house.create("dead")
    policy = f'{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":2}}'
    house.create("work", RedrivePolicy=policy)
    (sent,) = house.send("work", *plain("poison"))
    for _ in range(2):
        assert bodies(house.receive("work", visibility_ms=1_000)) == ["poison"]
        house.advance(1_000)
    house.settle()
    assert house.receive("work") == []
    assert house.queue("work").counts() == (0, 0, 0)
    (dead,) = house.receive("dead")
    assert dead.message_id == sent.message_id
    assert dead.message.dead_letter_source == "work"
    assert house.queues.dead_letter_sources("dead", "", 10) == ["work"]


def test_dead_letters_are_moved_back_where_they_came_from(house: QueueHouse) -> None:
    house.create("dead")
    policy = f'{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":1}}'
    house.create("work", RedrivePolicy=policy)
    house.send("work", *plain("a", "b"))
    house.receive("work", 10, visibility_ms=1_000)
    house.advance(1_000)
    house.settle()
    assert house.queue("dead").counts() == (2, 0, 0)
    house.run(house.queues.move_tasks.start("dead", None, None))
    for _ in range(20):
        house.settle()
    (task,) = house.queues.move_tasks.list("dead", 10)
    assert (task.status, task.moved, task.to_move) == ("COMPLETED", 2, 2)
    assert sorted(bodies(house.receive("work", 10))) == ["a", "b"]
    assert house.queue("dead").counts() == (0, 0, 0)


def test_a_purge_takes_everything_and_not_too_often(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("a", "b"), Outgoing("c", delay_seconds=9))
    house.receive("work")
    house.run(house.queues.purge("work"))
    assert house.queue("work").counts() == (0, 0, 0)
    with pytest.raises(PurgeQueueInProgress):
        house.run(house.queues.purge("work"))
    house.send("work", *plain("d"))
    house.crash()
    assert bodies(house.receive("work", 10)) == ["d"]


def test_old_messages_expire(house: QueueHouse) -> None:
    house.create("work", MessageRetentionPeriod="60")
    house.send("work", *plain("old"))
    house.advance(30_000)
    house.send("work", *plain("young"))
    house.advance(40_000)
    house.advance(6_000)
    assert bodies(house.receive("work", 10)) == ["young"]


def test_messages_that_are_too_many_for_a_turn_expire_and_are_purged(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "TRIMMED_MAX", 3)
    house.create("work.fifo", FifoQueue="true", MessageRetentionPeriod="60")
    send = [message for number in range(10) for message in grouped(str(number), f"{number}")]
    house.send("work.fifo", *send)
    house.advance(70_000)
    house.advance(6_000)
    assert house.queue("work.fifo").counts() == (0, 0, 0)
    house.send("work.fifo", *grouped("a", "young"), *grouped("b", "younger"))
    house.crash()
    assert bodies(house.receive("work.fifo", 10)) == ["young", "younger"]
    house.send("work.fifo", *grouped("c", *map(str, range(20, 29))))
    house.run(house.queues.purge("work.fifo"))
    assert house.queue("work.fifo").counts() == (0, 0, 0)


def test_deleted_messages_are_replayed_by_time(house: QueueHouse) -> None:
    house.create("work", **{"duolog:RetainDeleted": "3600"})
    house.send("work", *plain("before"))
    house.advance(10_000)
    begin_ms = house.clock.now_ms()
    house.send("work", *plain("a", "b"))
    house.advance(10_000)
    end_ms = house.clock.now_ms()
    house.send("work", *plain("after"))
    received = house.receive("work", 10)
    house.delete("work", *(each.receipt_handle for each in received))
    assert house.run(house.queues.replay("work", begin_ms, end_ms)) == 2
    assert sorted(bodies(house.receive("work", 10))) == ["a", "b"]


def test_subscription_queues_share_a_topic(house: QueueHouse) -> None:
    house.run(house.broker.catalog.create_topic("events", 1, {}))
    house.create("one", **{"duolog:SourceTopic": "events"})
    house.create("two", **{"duolog:SourceTopic": "events"})
    house.send("one", *plain("a", "b"))
    (first, _) = house.receive("one", 10)
    house.delete("one", first.receipt_handle)
    house.crash()
    assert house.queue("one").counts() == (0, 1, 0)
    assert bodies(house.receive("two", 10)) == ["a", "b"]
    with pytest.raises(PolicyViolation):
        house.run(house.broker.catalog.delete_topic("events"))


def test_the_same_queue_can_be_created_twice_but_not_another(house: QueueHouse) -> None:
    first = house.create("work", DelaySeconds="5")
    assert house.create("work", DelaySeconds="5") is first
    with pytest.raises(QueueNameExists):
        house.create("work", DelaySeconds="6")


def test_a_queue_created_anew_has_none_of_the_old_messages(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", *plain("old"))
    (held,) = house.receive("work")
    house.run(house.queues.delete("work"))
    house.create("work")
    assert house.queue("work").counts() == (0, 0, 0)
    assert isinstance(house.delete("work", held.receipt_handle)[0], ReceiptHandleIsInvalid)
    house.restart()
    assert house.queue("work").counts() == (0, 0, 0)


def test_high_throughput_spreads_groups_and_keeps_their_order(house: QueueHouse) -> None:
    house.create(
        "work.fifo",
        FifoQueue="true",
        DeduplicationScope="messageGroup",
        FifoThroughputLimit="perMessageGroupId",
    )
    for number in range(10):
        for group in "abcdefgh":
            house.send("work.fifo", *grouped(group, str(number)))
    used = [each for each in house.queue("work.fifo").partitions if each.delivery.ready_count]
    assert len(used) > 1
    seen: dict[str | None, list[str]] = {}
    while received := house.receive("work.fifo", 10):
        for each in received:
            seen.setdefault(each.message.group_id, []).append(each.message.body)
        house.delete("work.fifo", *(each.receipt_handle for each in received))
    assert seen == {group: [str(number) for number in range(10)] for group in "abcdefgh"}
