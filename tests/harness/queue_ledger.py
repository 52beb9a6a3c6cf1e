"""What clients of a queue were told, and whether all of it can be true together.

Every answer is compared with all that came before it. A request that was cut off may or may
not have happened, and nothing is concluded from it.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

HOUR_SECONDS = 3_600
CLOCK_SECONDS = 0.01
"""By which two processes may differ about when something was."""
LOST, DOUBLED, OUT_OF_ORDER = "lost", "doubled", "out of order"
"""Kinds of promises that can be broken."""


@dataclass(frozen=True)
class Delivery:
    """One message in the answer to one receive."""

    message_id: str
    body: str
    group: str
    number: int
    receipt: str
    receive_count: int
    begun: float
    """When the receive was begun: not before it is the message hidden."""
    ended: float


@dataclass
class _Message:
    body: str
    receive_count: int = 0
    ended: float = 0.0
    """When the newest known delivery was answered."""
    hidden_until: float = 0.0
    """Before then nobody else gets it, as far as that can be told from outside."""
    deleted: float | None = None
    """When its deletion was acknowledged."""
    deletions: int = 0
    """Requests that may have deleted it."""


class QueueLedger:
    def __init__(self, *, fifo: bool) -> None:
        self._fifo = fifo
        self._lock = Lock()
        self._messages: dict[str, _Message] = {}
        self._deliveries: set[tuple[str, int]] = set()
        self._ids: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        """By group and number."""
        self._sent: set[tuple[str, int]] = set()
        """Whose sending was acknowledged."""
        self._next_undeleted: defaultdict[str, int] = defaultdict(int)
        """Per group, the first number that nobody tried to delete."""
        self._tried: set[tuple[str, int]] = set()
        self.failures: list[str] = []
        self.broken: Counter[str] = Counter()
        """Failures by kind."""

    @property
    def sent_count(self) -> int:
        return len(self._sent)

    @property
    def received_count(self) -> int:
        return len(self._deliveries)

    @property
    def deleted_count(self) -> int:
        with self._lock:
            return sum(message.deleted is not None for message in self._messages.values())

    @property
    def waiting_count(self) -> int:
        """About how many messages are in the queue."""
        return len(self._sent) - len(self._tried)

    def _fail(self, kind: str, text: str) -> None:
        self.broken[kind] += 1
        self.failures.append(text)

    def sent(self, group: str, number: int, message_id: str) -> None:
        with self._lock:
            self._sent.add((group, number))
            self._note_id(group, number, message_id)

    def _note_id(self, group: str, number: int, message_id: str) -> None:
        ids = self._ids[group, number]
        ids.add(message_id)
        if len(ids) > 1:
            self._fail(DOUBLED, f"{group} {number} is more than one message: {ids}")

    def received(self, deliveries: Sequence[Delivery], visibility: float) -> None:
        """An answer has come."""
        with self._lock:
            together: set[tuple[str, int]] = set()
            for delivery in deliveries:
                self._note_id(delivery.group, delivery.number, delivery.message_id)
                self._check(delivery, visibility)
                if self._fifo:
                    self._check_order(delivery, together)
                together.add((delivery.group, delivery.number))

    def _check(self, delivery: Delivery, visibility: float) -> None:
        message = self._messages.setdefault(delivery.message_id, _Message(delivery.body))
        count = delivery.receive_count
        if message.body != delivery.body:
            self._fail(LOST, f"{delivery} had another body: {message.body}")
        if (delivery.message_id, count) in self._deliveries:
            self._fail(DOUBLED, f"{delivery}: two deliveries have the same receive count")
        self._deliveries.add((delivery.message_id, count))
        if message.deleted is not None and message.deleted < delivery.begun:
            self._fail(DOUBLED, f"{delivery} was deleted before")
        if message.ended < delivery.begun and count <= message.receive_count:
            self._fail(DOUBLED, f"{delivery}: the receive count was {message.receive_count} before")
        if count > message.receive_count:
            if delivery.ended < message.hidden_until - CLOCK_SECONDS:
                self._fail(DOUBLED, f"{delivery} is hidden until {message.hidden_until}")
            message.receive_count = count
            message.ended = delivery.ended
            message.hidden_until = delivery.begun + visibility

    def _check_order(self, delivery: Delivery, together: set[tuple[str, int]]) -> None:
        """Every earlier message of the group is deleted, or comes in the same answer."""
        group = delivery.group
        while (group, self._next_undeleted[group]) in self._tried:
            self._next_undeleted[group] += 1
        for number in range(self._next_undeleted[group], delivery.number):
            earlier = (group, number)
            if earlier not in self._tried and earlier not in together:
                self._fail(OUT_OF_ORDER, f"{delivery} came before {number}")
                return

    def hiding(self, delivery: Delivery, seconds: float) -> None:
        """Its visibility is about to be changed: it may be over from now on."""
        with self._lock:
            message = self._messages[delivery.message_id]
            if message.receive_count == delivery.receive_count:
                message.hidden_until = min(message.hidden_until, time.monotonic() + seconds)

    def hidden(self, delivery: Delivery, begun: float, seconds: float) -> None:
        """Its visibility was changed."""
        with self._lock:
            message = self._messages[delivery.message_id]
            if message.receive_count == delivery.receive_count:
                message.hidden_until = begun + seconds

    def deleting(self, delivery: Delivery) -> None:
        with self._lock:
            self._messages[delivery.message_id].deletions += 1
            self._tried.add((delivery.group, delivery.number))

    def deleted(self, delivery: Delivery) -> None:
        """It was acknowledged. A receipt of a newer delivery would have had no effect."""
        with self._lock:
            message = self._messages[delivery.message_id]
            now = time.monotonic()
            is_latest = message.receive_count == delivery.receive_count
            if is_latest and now < message.hidden_until - CLOCK_SECONDS:
                message.deleted = now

    def refused(self, delivery: Delivery) -> None:
        """The deletion was refused: the receipt had expired."""
        with self._lock:
            message = self._messages[delivery.message_id]
            message.deletions -= 1
            if not message.deletions:
                group, number = delivery.group, delivery.number
                self._tried.discard((group, number))
                self._next_undeleted[group] = min(number, self._next_undeleted[group])

    def check(self) -> None:
        assert not self.failures, "\n".join(self.failures[:10])

    def check_drained(self) -> None:
        """The queue is empty: everything that was acknowledged was received."""
        self.check()
        missing = self.missing()
        assert not missing, f"{len(missing)} messages are lost, such as {missing[:5]}"

    def missing(self) -> list[tuple[str, int]]:
        """Acknowledged messages, by group and number, that nobody has received."""
        with self._lock:
            received = {
                key for key, ids in self._ids.items() if any(each in self._messages for each in ids)
            }
            return sorted(self._sent - received)
