"""Why a message is done is in the journal, for whoever audits the queue."""

from tests.fakes.queue_house import ARN, QueueHouse

from duolog.core.queues.message import Outgoing
from duolog.records.changes import Cause, Deleted, Trimmed, decode_changes


def causes(house: QueueHouse, name: str) -> list[Cause]:
    """Of everything that ended messages of the queue, in order."""
    journal = house.queue(name).partitions[0].journal
    assert journal is not None
    return [
        Cause(change.cause)
        for entry in journal.entries(0)
        if not entry.head.pieces
        for change in decode_changes(entry.content)
        if isinstance(change, Deleted | Trimmed)
    ]


def test_a_consumer_deletes(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", Outgoing("a"))
    (received,) = house.receive("work")
    house.delete("work", received.receipt_handle)
    assert causes(house, "work") == [Cause.CONSUMED]


def test_an_at_most_once_queue_deletes_as_it_hands_out(house: QueueHouse) -> None:
    house.create("work", **{"duolog:Delivery": "at-most-once"})
    house.send("work", Outgoing("a"))
    house.receive("work")
    assert causes(house, "work") == [Cause.HANDED_OUT]


def test_dead_letters_and_what_is_moved_back_are_told_apart(house: QueueHouse) -> None:
    house.create("dead")
    policy = f'{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":1}}'
    house.create("work", RedrivePolicy=policy)
    house.send("work", Outgoing("a"))
    house.receive("work", visibility_ms=1_000)
    house.advance(1_000)
    house.settle()
    assert causes(house, "work") == [Cause.DEAD_LETTER]
    house.run(house.queues.move_tasks.start("dead", None, None))
    for _ in range(20):
        house.settle()
    assert causes(house, "dead") == [Cause.MOVED]


def test_a_purge_and_retention_are_told_apart(house: QueueHouse) -> None:
    house.create("work", MessageRetentionPeriod="60")
    house.send("work", Outgoing("a"))
    house.run(house.queues.purge("work"))
    house.send("work", Outgoing("b"))
    house.advance(70_000)
    house.advance(10_000)
    assert causes(house, "work") == [Cause.PURGED, Cause.EXPIRED]


def test_what_the_topic_was_told_to_forget_did_not_expire(house: QueueHouse) -> None:
    house.create("work")
    house.send("work", Outgoing("a"), Outgoing("b"))
    partition = house.queue("work").partitions[0]
    partition.data.log.advance_start(1)
    (received,) = house.receive("work")
    assert received.message.body == "b"
    assert causes(house, "work") == [Cause.REMOVED]
