"""Messages that are looked at without being received."""

import pytest
from tests.fakes.queue_house import QueueHouse

from duolog.broker.queues import peeking
from duolog.core.queues.message import MessageAttribute, Outgoing
from duolog.model.queue_errors import InvalidParameterValue


@pytest.fixture(autouse=True)
def work(house: QueueHouse) -> None:
    house.create("work")


def look(house: QueueHouse, from_offset: int = 0, partition: int = 0) -> peeking.Page:
    return peeking.look(
        house.queue("work"), partition=partition, from_offset=from_offset, limit=1_000, state=None
    )


def test_a_page_ends_early_when_its_messages_are_large(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peeking, "PEEKED_BYTES_MAX", 100)
    large = {"a": MessageAttribute("Binary", bytes(60))}
    house.send("work", Outgoing("a" * 60), Outgoing("b", large), Outgoing("c" * 500))
    first = look(house)
    assert [each.message.body[0] for each in first.messages] == ["a", "b"]
    assert first.next_offset == 2
    assert look(house, 2).next_offset is None


def test_a_message_larger_than_a_page_is_a_page_of_its_own(
    house: QueueHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peeking, "PEEKED_BYTES_MAX", 100)
    house.send("work", Outgoing("a" * 500), Outgoing("b"))
    page = look(house)
    assert ([each.offset for each in page.messages], page.next_offset) == ([0], 1)


def test_a_partition_that_is_not_there_is_refused(house: QueueHouse) -> None:
    with pytest.raises(InvalidParameterValue, match="The last partition of the queue is 0"):
        look(house, partition=1)


def test_messages_that_are_done_can_be_left_out(house: QueueHouse) -> None:
    house.send("work", Outgoing("a"), Outgoing("b"))
    (first,) = house.receive("work", 1)
    house.delete("work", first.receipt_handle)
    undone = peeking.look(
        house.queue("work"), partition=0, from_offset=0, limit=10, state=peeking.UNDONE
    )
    assert [each.message.body for each in undone.messages] == ["b"]
    assert [each.state for each in look(house).messages] == ["done", "ready"]
