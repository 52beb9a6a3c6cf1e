"""What concerns 100,000 messages at once is done in short turns, with the same result."""

import pytest

from duolog.core.queues.deadlines import DUE_MAX
from duolog.core.queues.delivery import TRIMMED_MAX, Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.records.changes import Delivered, Trimmed

MESSAGES = 2 * max(DUE_MAX, TRIMMED_MAX) + 1
DUE_MS = 30_000


def delivery(*, fifo: bool, groups: int, due_ms: int = 0) -> Delivery:
    made = Delivery(DeliveryRules(fifo, 60_000, MESSAGES, None))
    for offset in range(MESSAGES):
        group = b"%d" % (offset % groups) if groups else None
        made.enqueue(offset, 1_000, group=group, due_ms=due_ms)
    return made


def passed(made: Delivery, now_ms: int) -> int:
    """Ticks until nothing is due; returns how often."""
    ticks = 0
    while (due_ms := made.next_deadline_ms()) is not None and due_ms <= now_ms:
        assert made.tick(now_ms)
        ticks += 1
    return ticks


@pytest.mark.parametrize(("fifo", "groups"), [(False, 0), (False, 100), (True, MESSAGES)])
def test_time_outs_of_many_messages_pass_a_few_per_turn(fifo: bool, groups: int) -> None:
    made = delivery(fifo=fifo, groups=groups)
    made.apply(Delivered(tuple(range(MESSAGES)), 2_000, DUE_MS))
    assert passed(made, DUE_MS) == -(-MESSAGES // DUE_MAX)
    assert (made.ready_count, made.in_flight_count) == (MESSAGES, 0)
    assert list(made.choose(3, DUE_MS)) == [0, 1, 2]


@pytest.mark.parametrize(("fifo", "groups"), [(False, 0), (False, 100), (True, 100)])
def test_delays_of_many_messages_end_a_few_per_turn(fifo: bool, groups: int) -> None:
    made = delivery(fifo=fifo, groups=groups, due_ms=DUE_MS)
    assert passed(made, DUE_MS) == -(-MESSAGES // DUE_MAX)
    assert (made.ready_count, made.delayed_count) == (MESSAGES, 0)
    assert made.choose(1, DUE_MS)[0] == 0


def test_a_group_waits_for_its_first_message_though_a_later_one_is_ready() -> None:
    made = delivery(fifo=True, groups=1, due_ms=DUE_MS)
    assert made.tick(DUE_MS)
    assert list(made.choose(10, 0)) == list(range(10))
    assert made.delayed_count == MESSAGES - DUE_MAX
    assert len(made.choose(MESSAGES, 0)) == DUE_MAX


def test_many_messages_of_groups_expire_some_per_turn() -> None:
    made = delivery(fifo=True, groups=MESSAGES)
    pieces = 0
    while (before_offset := made.trimmable_to(MESSAGES)) > made.low_offset():
        made.apply(Trimmed(before_offset))
        pieces += 1
    assert pieces == -(-MESSAGES // TRIMMED_MAX)
    assert made.is_empty


def test_messages_that_are_a_range_expire_at_once() -> None:
    made = delivery(fifo=False, groups=0)
    assert made.trimmable_to(MESSAGES) == MESSAGES
