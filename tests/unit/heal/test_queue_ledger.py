"""The ledger of a queue finds each kind of broken promise, so that none of its checks is idle."""

from tests.harness.queue_ledger import DOUBLED, LOST, OUT_OF_ORDER, Delivery, QueueLedger

VISIBILITY = 3.0


def delivery(number: int, *, at: float, count: int = 1, message_id: str = "") -> Delivery:
    name = message_id or f"m{number}"
    return Delivery(name, f"g {number}", "g", number, f"r{count}", count, at, at + 0.01)


def ledger(sent: int, *, fifo: bool = True) -> QueueLedger:
    made = QueueLedger(fifo=fifo)
    for number in range(sent):
        made.sent("g", number, f"m{number}")
    return made


def receive(into: QueueLedger, *deliveries: Delivery) -> None:
    into.received(list(deliveries), VISIBILITY)


def test_messages_received_and_deleted_in_order_are_well() -> None:
    kept = ledger(2)
    for number in range(2):
        receive(kept, delivery(number, at=float(number)))
        kept.deleting(delivery(number, at=float(number)))
    assert kept.broken == {}
    assert kept.missing() == []


def test_an_acknowledged_message_that_nobody_received_is_missing() -> None:
    kept = ledger(3)
    receive(kept, delivery(0, at=0.0))
    assert kept.missing() == [("g", 1), ("g", 2)]


def test_one_send_that_became_two_messages_is_doubled() -> None:
    kept = ledger(1)
    receive(kept, delivery(0, at=0.0, message_id="another"))
    assert kept.broken == {DOUBLED: 1}


def test_a_message_that_is_received_while_it_is_hidden_is_doubled() -> None:
    kept = ledger(1, fifo=False)
    receive(kept, delivery(0, at=0.0))
    receive(kept, delivery(0, at=1.0, count=2))
    assert kept.broken == {DOUBLED: 1}


def test_a_message_that_returns_after_its_time_out_is_well() -> None:
    kept = ledger(1)
    receive(kept, delivery(0, at=0.0))
    receive(kept, delivery(0, at=VISIBILITY + 1, count=2))
    assert kept.broken == {}


def test_a_message_before_an_earlier_one_of_its_group_is_out_of_order() -> None:
    kept = ledger(2)
    receive(kept, delivery(1, at=0.0))
    assert kept.broken == {OUT_OF_ORDER: 1}


def test_a_message_with_another_body_is_lost() -> None:
    kept = ledger(1, fifo=False)
    receive(kept, delivery(0, at=0.0))
    other = Delivery("m0", "g 9", "g", 0, "r2", 2, VISIBILITY + 1, VISIBILITY + 2)
    receive(kept, other)
    assert kept.broken == {LOST: 1}
