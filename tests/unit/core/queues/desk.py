"""A delivery machine with a clock, for tests: sends, receives, deletes, waits."""

from dataclasses import replace

from duolog.core.queues.delivery import Delivery
from duolog.core.queues.held import Held
from duolog.core.queues.rules import DeliveryRules
from duolog.records.changes import Deleted, Delivered, VisibilityChanged

START_MS = 1_700_000_000_000
HIDDEN_MS = 30_000
STANDARD = DeliveryRules(
    fifo=False, retention_ms=345_600_000, in_flight_max=120_000, receive_count_max=None
)
FIFO = replace(STANDARD, fifo=True)


class Desk:
    def __init__(self, rules: DeliveryRules = STANDARD) -> None:
        self.delivery = Delivery(rules)
        self.now_ms = START_MS

    def send(self, count: int = 1, *, group: bytes | None = None, delay_ms: int = 0) -> list[int]:
        first = self.delivery.end_offset
        due_ms = self.now_ms + delay_ms if delay_ms else 0
        for offset in range(first, first + count):
            self.delivery.enqueue(offset, self.now_ms, group=group, due_ms=due_ms)
        return list(range(first, first + count))

    def receive(self, count: int = 1, *, hidden_ms: int = HIDDEN_MS) -> list[int]:
        offsets = self.delivery.choose(count, self.now_ms)
        if offsets:
            deadline_ms = self.now_ms + hidden_ms
            self.delivery.apply(Delivered(offsets, self.now_ms, deadline_ms))
        return list(offsets)

    def receive_all(self) -> list[int]:
        """One by one."""
        offsets: list[int] = []
        while received := self.receive():
            offsets += received
        return offsets

    def delete(self, *offsets: int) -> None:
        self.delivery.apply(Deleted(offsets))

    def hide(self, offset: int, hidden_ms: int) -> None:
        self.delivery.apply(VisibilityChanged(offset, self.now_ms + hidden_ms))

    def wait(self, passed_ms: int) -> bool:
        self.now_ms += passed_ms
        return self.delivery.tick(self.now_ms)

    def limit(self, receive_count_max: int | None) -> None:
        self.delivery.rules = replace(self.delivery.rules, receive_count_max=receive_count_max)

    def held(self, offset: int) -> Held:
        held = self.delivery.held(offset)
        assert held is not None
        return held

    def state(self, offset: int) -> str:
        return self.delivery.state_of(offset, self.now_ms)

    def counts(self) -> tuple[int, int, int]:
        """Ready, in flight, delayed."""
        delivery = self.delivery
        return delivery.ready_count, delivery.in_flight_count, delivery.delayed_count

    def restart(self) -> None:
        self.delivery = Delivery.from_snapshot(self.delivery.snapshot(), self.delivery.rules)
