from dataclasses import replace

import pytest
from tests.unit.core.queues.desk import FIFO, HIDDEN_MS, STANDARD, Desk

from duolog.core.queues.delivery import Delivery
from duolog.core.queues.rules import DeliveryRules
from duolog.records.changes import Delivered, VisibilityChanged


def busy_desk(rules: DeliveryRules, *groups: bytes | None) -> Desk:
    """A bit of everything: waiting, in flight, returned, dead, delayed."""
    desk = Desk(replace(rules, receive_count_max=2))
    for group in groups:
        desk.send(5, group=group)
        desk.send(2, group=group, delay_ms=60_000)
        desk.send(3, group=group)
    desk.receive(2, hidden_ms=1_000)
    desk.wait(1_000)
    desk.receive(2, hidden_ms=1_000)
    desk.wait(1_000)
    desk.receive(3)
    desk.wait(HIDDEN_MS)
    desk.receive(1)
    return desk


every_kind = pytest.mark.parametrize(
    ("rules", "groups"),
    [
        (STANDARD, (None,)),
        (STANDARD, (None, b"a", b"b")),
        (FIFO, (None, b"a", b"b")),
    ],
    ids=["standard", "fair", "fifo"],
)


@every_kind
def test_a_machine_goes_on_from_its_snapshot(
    rules: DeliveryRules, groups: tuple[bytes | None, ...]
) -> None:
    desk, again = busy_desk(rules, *groups), busy_desk(rules, *groups)
    again.restart()
    assert again.counts() == desk.counts()
    assert again.delivery.snapshot() == desk.delivery.snapshot()
    assert again.delivery.dead() == desk.delivery.dead() != ()
    for _ in range(20):
        assert again.receive(3) == desk.receive(3)
        assert again.wait(7_000) == desk.wait(7_000)
        assert again.counts() == desk.counts()
        assert again.delivery.next_deadline_ms() == desk.delivery.next_deadline_ms()
        assert again.delivery.undone(0, 100) == desk.delivery.undone(0, 100)
        assert again.delivery.oldest_sent_ms() == desk.delivery.oldest_sent_ms()


@every_kind
def test_a_damaged_snapshot_is_refused(
    rules: DeliveryRules, groups: tuple[bytes | None, ...]
) -> None:
    snapshot = busy_desk(rules, *groups).delivery.snapshot()
    for at in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[at] ^= 0x41
        with pytest.raises(ValueError, match="a snapshot"):
            Delivery.from_snapshot(bytes(damaged), rules)
        with pytest.raises(ValueError, match="a snapshot"):
            Delivery.from_snapshot(snapshot[:at], rules)


def test_a_snapshot_of_the_other_kind_of_queue_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        Delivery.from_snapshot(Delivery(STANDARD).snapshot(), FIFO)


def test_rules_that_changed_meanwhile_are_applied() -> None:
    desk = Desk()
    desk.send(2)
    desk.receive(2, hidden_ms=1_000)
    desk.wait(1_000)
    snapshot = desk.delivery.snapshot()
    limited = Delivery.from_snapshot(snapshot, replace(STANDARD, receive_count_max=1))
    assert limited.dead() == (0, 1)
    freed = Delivery.from_snapshot(limited.snapshot(), STANDARD)
    assert freed.dead() == ()
    assert freed.ready_count == 2


def test_a_time_is_not_over_because_the_clock_before_was_ahead() -> None:
    ahead = Delivery(STANDARD)
    ahead.enqueue(0, 0, group=None)
    ahead.tick(60_000)
    delivery = Delivery.from_snapshot(ahead.snapshot(), STANDARD, now_ms=10_000)
    delivery.apply(Delivered((0,), 10_000, 20_000, b""))
    delivery.apply(VisibilityChanged(0, 45_000))
    assert delivery.in_flight_count == 1
    delivery.enqueue(1, 10_000, group=None, due_ms=15_000)
    assert delivery.delayed_count == 1


def test_a_snapshot_of_many_messages_in_flight_stays_small() -> None:
    desk = Desk()
    desk.delivery.enqueue_range(0, 20_000, desk.now_ms)
    while desk.receive(1_000):
        pass
    assert len(desk.delivery.snapshot()) < 20_000 * 48
