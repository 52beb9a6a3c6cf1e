"""What the broker itself does to messages is counted: dead letters, retention and purges."""

import pytest
from tests.fakes.meter import FakeMeter
from tests.fakes.queue_house import ARN, QueueHouse, plain

from duolog.core.queues.message import Outgoing


@pytest.fixture
def meter(house: QueueHouse) -> FakeMeter:
    meter = FakeMeter()
    house.broker.meter = meter
    return meter


def test_dead_letters_are_counted_by_the_queue_that_they_leave(
    house: QueueHouse, meter: FakeMeter
) -> None:
    house.create("dead")
    policy = f'{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":1}}'
    house.create("work", RedrivePolicy=policy)
    house.send("work", *plain("a", "b", "c"))
    house.receive("work", 2, visibility_ms=1_000)
    house.advance(1_000)
    house.settle()
    assert meter.counted == {("queue", "work", "dead_letter"): (0, 2, 0, 0)}


def test_messages_that_retention_or_a_purge_ends_are_counted(
    house: QueueHouse, meter: FakeMeter
) -> None:
    house.create("work", MessageRetentionPeriod="60")
    house.send("work", *plain("a", "b"))
    (received,) = house.receive("work")
    house.delete("work", received.receipt_handle)
    for _ in range(20):
        house.advance(5_000)
    assert meter.counted == {("queue", "work", "expire"): (0, 1, 0, 0)}
    house.send("work", *plain("c", "d"), Outgoing("e", delay_seconds=9))
    house.receive("work")
    house.run(house.queues.purge("work"))
    assert meter.counted == {("queue", "work", "expire"): (0, 4, 0, 0)}
