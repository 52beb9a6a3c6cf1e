"""Producers and consumers of a queue that never give up, whatever happens to the node."""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Any

from tests.harness.queue_ledger import HOUR_SECONDS, Delivery, QueueLedger
from tests.harness.sqs_line import Refused, SqsLine

RETRY_SECONDS = 0.01
RECONNECT_SECONDS = 0.1
"""Not so often that it would slow down the node's start."""
WAITING_MAX = 400
"""Messages in a queue, from which on producers wait."""
BATCH_MAX = 5
HELD_MAX = 20
"""Messages that a consumer keeps for an hour."""
STALE_RECEIPT = "InvalidParameterValue"
NOT_IN_FLIGHT = "MessageNotInflight"
UNAVAILABLE = "ServiceUnavailable"
"""How error codes begin; those of a whole request may end in Exception."""
UNAVAILABLE_STATUS = 503


class Unavailable(ConnectionError):
    """The node could not do it now, or does not know whether it was done."""


def is_unknown(failed: dict[str, Any]) -> bool:
    """Whether that entry of a batch was done after all nobody can say."""
    return bool(failed["Code"].startswith(UNAVAILABLE))


class Worker(Thread, ABC):
    """Does one thing again and again over a connection of its own."""

    def __init__(self, connect: Callable[[], SqsLine], url: str, ledger: QueueLedger) -> None:
        super().__init__(daemon=True)
        self._connect = connect
        self.url = url
        self.ledger = ledger
        self.chance = random.Random(f"{url} {self.name}")
        self._stopping = Event()
        self._wire: SqsLine | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self.work()
                except OSError:
                    self._reconnect()
        except Exception as error:
            self.ledger.failures.append(f"{type(self).__name__}: {error!r}")
            raise
        finally:
            self._disconnect()

    @abstractmethod
    def work(self) -> None:
        """Something small. OSError when the node has gone away meanwhile."""

    def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        wire = self.connect()
        try:
            return wire.call(action, QueueUrl=self.url, **parameters)
        except Refused as refusal:
            if refusal.status == UNAVAILABLE_STATUS:
                raise Unavailable(str(refusal)) from None
            raise

    def connect(self) -> SqsLine:
        if self._wire is None:
            self._wire = self._connect()
        return self._wire

    def _reconnect(self) -> None:
        """Later, and perhaps to another node."""
        self._disconnect()
        time.sleep(RECONNECT_SECONDS)

    def _disconnect(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def stop(self) -> None:
        self._stopping.set()


class Producer(Worker):
    """Sends numbered messages of some groups; each group has only this producer.

    In a FIFO queue what was cut off is sent again until it is acknowledged. In a standard
    queue that could make two of it, so the next number follows.
    """

    waiting_max = WAITING_MAX

    def __init__(
        self,
        connect: Callable[[], SqsLine],
        url: str,
        ledger: QueueLedger,
        groups: Sequence[str],
        *,
        fifo: bool,
    ) -> None:
        super().__init__(connect, url, ledger)
        self._fifo = fifo
        self._next = dict.fromkeys(groups, 0)

    def work(self) -> None:
        if self.ledger.waiting_count > self.waiting_max:
            time.sleep(RETRY_SECONDS)
            return
        group = self.chance.choice(list(self._next))
        first = self._next[group]
        numbers = range(first, first + self.chance.randint(1, BATCH_MAX))
        if not self._fifo:
            self._next[group] = numbers.stop
        if len(numbers) == 1:
            sent = [self.call("SendMessage", **self._message(group, first))]
        else:
            entries = [{"Id": f"{each}", **self._message(group, each)} for each in numbers]
            answer = self.call("SendMessageBatch", Entries=entries)
            if answer.get("Failed"):
                assert all(is_unknown(each) for each in answer["Failed"]), answer
                for each in answer.get("Successful", ()):
                    self.ledger.sent(group, int(each["Id"]), each["MessageId"])
                raise Unavailable(f"{len(answer['Failed'])} of {len(numbers)} may not be sent")
            sent = sorted(answer["Successful"], key=lambda each: int(each["Id"]))
        for number, each in zip(numbers, sent, strict=True):
            self.ledger.sent(group, number, each["MessageId"])
        self._next[group] = numbers.stop

    def _message(self, group: str, number: int) -> dict[str, Any]:
        message: dict[str, Any] = {"MessageBody": f"{group} {number}"}
        if self._fifo:
            message["MessageGroupId"] = group
            message["MessageDeduplicationId"] = f"{group}-{number}"
        return message


class Consumer(Worker):
    """Receives, and deletes most of it; gives back, prolongs, keeps or forgets the rest."""

    def __init__(
        self,
        connect: Callable[[], SqsLine],
        url: str,
        ledger: QueueLedger,
        *,
        visibility: int,
        keeps: Callable[[Delivery], bool],
    ) -> None:
        super().__init__(connect, url, ledger)
        self._visibility = visibility
        self._keeps = keeps
        self.kept: dict[Delivery, bool] = {}
        """In flight for an hour; false where that was not acknowledged."""

    def work(self) -> None:
        deliveries = self.receive(wait=self.chance.choice((0, 1)))
        doomed = []
        for delivery in deliveries:
            fate = self.chance.random()
            if self._keeps(delivery) and len(self.kept) < HELD_MAX:
                self.keep(delivery)
            elif fate < 0.8:
                doomed.append(delivery)
            elif fate < 0.87:
                self.hide(delivery, 0)
            elif fate < 0.94:
                self.hide(delivery, 2)
        if len(doomed) > 1 and self.chance.random() < 0.5:
            self.delete_together(doomed)
        else:
            for delivery in doomed:
                self.delete(delivery)

    def receive(self, *, wait: int = 0) -> list[Delivery]:
        begun = time.monotonic()
        answer = self.call(
            "ReceiveMessage",
            MaxNumberOfMessages=self.chance.randint(1, 10),
            WaitTimeSeconds=wait,
            VisibilityTimeout=self._visibility,
            MessageSystemAttributeNames=["All"],
        )
        ended = time.monotonic()
        deliveries = []
        for each in answer.get("Messages", ()):
            group, number = each["Body"].split()
            deliveries.append(
                Delivery(
                    each["MessageId"],
                    each["Body"],
                    group,
                    int(number),
                    each["ReceiptHandle"],
                    int(each["Attributes"]["ApproximateReceiveCount"]),
                    begun,
                    ended,
                )
            )
        self.ledger.received(deliveries, self._visibility)
        return deliveries

    def keep(self, delivery: Delivery) -> None:
        self.kept[delivery] = False
        if self.hide(delivery, HOUR_SECONDS):
            self.kept[delivery] = True
        else:
            del self.kept[delivery]

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        begun = time.monotonic()
        self.ledger.hiding(delivery, seconds)
        try:
            self.call(
                "ChangeMessageVisibility",
                ReceiptHandle=delivery.receipt,
                VisibilityTimeout=seconds,
            )
        except Refused as refusal:
            if not refusal.code.startswith((STALE_RECEIPT, NOT_IN_FLIGHT)):
                raise
            return False
        self.ledger.hidden(delivery, begun, seconds)
        return True

    def delete(self, delivery: Delivery) -> None:
        self.ledger.deleting(delivery)
        try:
            self.call("DeleteMessage", ReceiptHandle=delivery.receipt)
        except Refused as refusal:
            if not refusal.code.startswith(STALE_RECEIPT):
                raise
            self.ledger.refused(delivery)
        else:
            self.ledger.deleted(delivery)

    def release(self, delivery: Delivery, seconds_max: float) -> bool:
        """Make it visible now; whether it was held until then, as far as that is known."""
        deadline = time.monotonic() + seconds_max
        was_tried = False
        while True:
            try:
                self.connect()
                was_tried_before, was_tried = was_tried, True
                return self.hide(delivery, 0) or was_tried_before
            except OSError:
                assert time.monotonic() < deadline, f"{delivery} cannot be released"
                self._reconnect()

    def drain(self, seconds_max: float) -> None:
        """Take over: receive and delete until the queue has no message left."""
        deadline = time.monotonic() + seconds_max
        left = [1]
        while any(left):
            assert time.monotonic() < deadline, f"the queue still has {left}"
            try:
                for delivery in self.receive(wait=1):
                    self.delete(delivery)
                left = self.counts()
            except OSError:
                self._reconnect()

    def counts(self) -> list[int]:
        names = [f"ApproximateNumberOfMessages{each}" for each in ("", "NotVisible", "Delayed")]
        found = self.call("GetQueueAttributes", AttributeNames=names)["Attributes"]
        return [int(found[name]) for name in names]

    def delete_together(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self.ledger.deleting(delivery)
        answer = self.call(
            "DeleteMessageBatch",
            Entries=[
                {"Id": f"{index}", "ReceiptHandle": delivery.receipt}
                for index, delivery in enumerate(deliveries)
            ],
        )
        for each in answer.get("Successful", ()):
            self.ledger.deleted(deliveries[int(each["Id"])])
        for each in answer.get("Failed", ()):
            if is_unknown(each):
                continue
            assert each["Code"] == STALE_RECEIPT, each
            self.ledger.refused(deliveries[int(each["Id"])])
