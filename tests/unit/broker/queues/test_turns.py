"""Requests that come in the same turn of the event loop: served together, each as if alone."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tests.fakes.queue_house import QueueHouse, bodies

from duolog.broker.queues.receiving import Receive, Received
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal, StorageFailed
from duolog.model.queue_errors import QueueDoesNotExist, ReceiptHandleIsInvalid
from duolog.records.changes import Change, Deleted, Delivered, decode_changes
from duolog.records.header import LOG_APPEND_TIME_BIT, read_header

T = TypeVar("T")


class Consumers:
    """Ask for the same in one turn."""

    def __init__(self, names: str) -> None:
        self.found: dict[str, list[str] | Refusal] = {}
        self.leaving: set[str] = set()
        self.waiting: dict[str, Callable[[], None]] = {}
        self.names = names

    def texts(self) -> list[str]:
        """All that they got."""
        found = [each for each in self.found.values() if not isinstance(each, Refusal)]
        return sorted(text for texts in found for text in texts)

    def received(self, token: str, result: Sequence[Received] | Refusal) -> None:
        assert token not in self.found
        self.found[token] = result if isinstance(result, Refusal) else bodies(result)

    def received_together(
        self, tokens: Sequence[str], found: Sequence[Received], counts: Sequence[int]
    ) -> None:
        first = 0
        for token, count in zip(tokens, counts, strict=True):
            self.received(token, found[first : first + count])
            first += count

    def gone(self, tokens: Sequence[str]) -> set[str]:
        return self.leaving.intersection(tokens)

    def waits(self, token: str, abandon: Callable[[], None]) -> None:
        self.waiting[token] = abandon


class AtOnce:
    """Asks for several things before the event loop gets its turn."""

    def __init__(self, house: QueueHouse, name: str = "work") -> None:
        self.house = house
        self.queue = house.queue(name)
        self.answers: dict[int, Any] = {}
        self._asked = 0

    def _ask(self, ask: Callable[[Callable[[Any], None]], T]) -> T:
        number = self._asked
        self._asked += 1
        asyncio._set_running_loop(self.house.loop)
        try:
            return ask(lambda answer: self.answers.__setitem__(number, answer))
        finally:
            asyncio._set_running_loop(None)

    def receive(self, count: int = 1, *, wait_ms: int = 0, **asked: Any) -> Receive:
        asked = {"visibility_ms": None, "attempt": None, **asked}
        return self._ask(
            lambda done: self.queue.receive(count=count, wait_ms=wait_ms, done=done, **asked)
        )

    def receive_each(self, consumers: Consumers, count: int = 1, *, wait_ms: int = 0) -> None:
        asked = {"visibility_ms": None, "attempt": None, "count": count, "wait_ms": wait_ms}
        self._ask(lambda done: self.queue.receive_each(consumers, consumers.names, **asked))

    def send(self, *messages: Outgoing) -> None:
        self._ask(lambda done: self.queue.send(messages, done))

    def send_plain(self, *bodies: bytes) -> None:
        self._ask(lambda done: self.queue.send_plain(bodies, done))

    def delete(self, *handles: str) -> None:
        self._ask(lambda done: self.queue.delete(handles, done))

    def settle(self) -> list[Any]:
        self.house.settle()
        return [self.answers.get(number) for number in range(self._asked)]

    def found(self) -> list[list[str]]:
        return [bodies(answer) for answer in self.settle()]

    def last_changes(self) -> list[Change]:
        journal = self.queue.partitions[0].journal
        assert journal is not None
        (entry,) = journal.entries(journal.end_offset - 1)
        return list(decode_changes(entry.content))


def filled(house: QueueHouse, *texts: str, **attributes: str) -> AtOnce:
    house.create("work", **attributes)
    house.send("work", *(Outgoing(text) for text in texts))
    # The first request of a queue makes its journal.
    house.receive("work", visibility_ms=0)
    return AtOnce(house)


def test_receives_of_a_turn_get_different_messages(house: QueueHouse) -> None:
    now = filled(house, "a", "b", "c", "d")
    for count in (1, 2, 10):
        now.receive(count)
    assert sorted(map(len, now.found())) == [1, 1, 2]
    assert sorted(text for texts in now.found() for text in texts) == ["a", "b", "c", "d"]


def test_receives_that_are_alike_are_served_with_one_change(house: QueueHouse) -> None:
    now = filled(house, *"abcde")
    consumers = Consumers("xyzw")
    now.receive_each(consumers, 2, wait_ms=5_000)
    now.settle()
    assert sorted(consumers.found) == ["x", "y", "z"]
    assert [len(texts) for texts in consumers.found.values()] == [2, 2, 1]
    assert consumers.texts() == [*"abcde"]
    (change,) = now.last_changes()
    assert isinstance(change, Delivered)
    assert len(change.offsets) == 5
    assert list(consumers.waiting) == ["w"]
    house.send("work", Outgoing("f"))
    now.settle()
    assert consumers.found["w"] == ["f"]


def test_who_has_gone_of_those_that_were_served_together_got_nothing(house: QueueHouse) -> None:
    now = filled(house, *"abc")
    consumers = Consumers("xyz")
    now.receive_each(consumers)
    consumers.leaving = {"y"}
    now.settle()
    assert sorted(consumers.found) == ["x", "z"]
    assert sorted([*consumers.texts(), *bodies(house.receive("work", 10))]) == [*"abc"]


def test_who_has_to_wait_can_leave(house: QueueHouse) -> None:
    now = filled(house)
    consumers = Consumers("xy")
    now.receive_each(consumers, wait_ms=5_000)
    now.settle()
    assert now.queue.parked == 2
    consumers.waiting["x"]()
    house.send("work", Outgoing("a"))
    now.settle()
    assert consumers.found == {"y": ["a"]}


def test_those_served_together_hear_of_a_failure(house: QueueHouse) -> None:
    now = filled(house, *"ab")
    house.disk.fail("write", times=2)
    consumers = Consumers("xy")
    now.receive_each(consumers)
    now.settle()
    assert {name: type(found) for name, found in consumers.found.items()} == {
        "x": StorageFailed,
        "y": StorageFailed,
    }


def test_a_receive_that_comes_too_late_gets_nothing_or_waits(house: QueueHouse) -> None:
    now = filled(house, "a")
    now.receive()
    now.receive()
    now.receive(wait_ms=5_000)
    first, second, third = now.settle()
    assert bodies(first) == ["a"]
    assert second == []
    assert third is None
    house.send("work", Outgoing("b"))
    assert bodies(now.settle()[2]) == ["b"]


def test_each_receive_of_a_turn_hides_for_as_long_as_it_says(house: QueueHouse) -> None:
    now = filled(house, "a", "b", "c")
    for visibility_ms in (1_000, 9_000, 1_000):
        now.receive(visibility_ms=visibility_ms)
    (kept,) = now.found()[1]
    house.advance(1_000)
    assert sorted([kept, *bodies(house.receive("work", 10))]) == ["a", "b", "c"]


def test_what_an_abandoned_receive_of_a_turn_got_goes_to_another(house: QueueHouse) -> None:
    now = filled(house, "a", "b", "c")
    receives = [now.receive(), now.receive(), now.receive()]
    receives[1].abandon()
    first, second, third = now.settle()
    assert second is None
    left = bodies(house.receive("work", 10))
    assert sorted(bodies(first) + bodies(third) + left) == ["a", "b", "c"]


def test_an_attempt_among_the_receives_of_a_turn_is_remembered(house: QueueHouse) -> None:
    house.create("work.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    house.send("work.fifo", *(Outgoing(text, group_id=text) for text in "abc"))
    house.receive("work.fifo", visibility_ms=0)
    now = AtOnce(house, "work.fifo")
    now.receive()
    now.receive(attempt="again")
    first, second = now.found()
    assert first != second
    assert bodies(house.receive("work.fifo", attempt="again")) == second


def test_deletes_of_a_turn_are_one_change_and_each_has_its_result(house: QueueHouse) -> None:
    now = filled(house, "a", "b", "c")
    handles = [each.receipt_handle for each in house.receive("work", 10)]
    now.delete(handles[0])
    now.delete("nonsense", handles[1])
    now.delete(handles[0], handles[2])
    first, second, third = now.settle()
    assert first == [None]
    assert isinstance(second[0], ReceiptHandleIsInvalid)
    assert second[1] is None
    assert third == [None, None]
    (change,) = now.last_changes()
    assert isinstance(change, Deleted)
    assert len(change.offsets) == 3
    assert house.queue("work").counts() == (0, 0, 0)


def test_requests_at_a_queue_that_is_deleted_in_their_turn_are_refused(house: QueueHouse) -> None:
    now = filled(house, "a")
    (held,) = house.receive("work")
    now.receive()
    now.delete(held.receipt_handle)
    now.queue.close()
    assert [type(answer) for answer in now.settle()] == [QueueDoesNotExist] * 2


def test_messages_that_are_only_bodies_go_into_a_batch_of_their_own(
    house: QueueHouse,
) -> None:
    house.create("work")
    now = AtOnce(house)
    now.send(Outgoing("a", group_id="g"))
    now.send_plain(b"b", b"c")
    now.send_plain(b"d")
    answers = now.settle()
    data = now.queue.partitions[0].data
    counts = [read_header(batch).record_count for batch in data.log.batches(0, 1 << 20)]
    assert counts == [3, 1]
    received = house.receive("work", 10)
    assert sorted(bodies(received)) == ["a", "b", "c", "d"]
    ids = {each.message.body: each.message_id for each in received}
    assert [[ids[text] for text in texts] for texts in ("a", "bc", "d")] == [
        [sent.message_id for sent in answers[0]],
        *(list(sent.message_ids) for sent in answers[1:]),
    ]


def test_messages_have_the_time_of_their_append(house: QueueHouse) -> None:
    house.create("work")
    now = AtOnce(house)
    now.send_plain(b"a")
    now.send(Outgoing("b", group_id="g"))
    now.settle()
    data = now.queue.partitions[0].data
    batches = list(data.log.batches(0, 1 << 20))
    assert len(batches) == 2
    for batch in batches:
        header = read_header(batch)
        assert header.attributes & LOG_APPEND_TIME_BIT
        assert header.max_timestamp == house.clock.now_ms()


def test_a_message_that_is_only_a_body_is_delayed_as_its_queue_says(house: QueueHouse) -> None:
    house.create("work", DelaySeconds="5")
    now = AtOnce(house)
    now.send_plain(b"a", b"b")
    (answer,) = now.settle()
    assert len({sent.message_id for sent in answer}) == 2
    assert house.receive("work", 10) == []
    house.advance(5_000)
    assert sorted(bodies(house.receive("work", 10))) == ["a", "b"]


def test_a_queue_that_is_gone_takes_no_bodies(house: QueueHouse) -> None:
    house.create("work")
    now = AtOnce(house)
    house.run(house.queues.delete("work"))
    now.send_plain(b"a")
    assert isinstance(now.settle()[0], QueueDoesNotExist)
