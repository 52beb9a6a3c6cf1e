"""SQS clients without retries: a sender and a receiver for each queue, who keep its ledger."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.harness.node import Node
from tests.harness.queue_clients import (
    NOT_IN_FLIGHT,
    STALE_RECEIPT,
    Consumer,
    Producer,
    Unavailable,
    Worker,
)
from tests.harness.queue_ledger import QueueLedger
from tests.harness.sqs_line import Refused, SqsLine
from tests.heal.pace import NEXT_NODE_SECONDS, Pace, Turns
from tests.heal.timeline import Client, Timeline

GROUPS = [f"g{number}" for number in range(20)]
WAITING_MIN = 40
"""Messages that wait in a queue, so that whoever receives gets one at once."""
WAITING_MAX = 200
VISIBILITY = 3


class _Impatient(Worker):
    """Turns to the next node as soon as one does not answer, or refuses."""

    turns: Turns
    refusals: Counter[str]

    def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        try:
            return super().call(action, **parameters)
        except Refused as refusal:
            if refusal.code.startswith((STALE_RECEIPT, NOT_IN_FLIGHT)):
                raise
            self.refusals[str(refusal)] += 1
            raise Unavailable(str(refusal)) from None
        except OSError as error:
            self.refusals[str(error)] += 1
            raise

    def _reconnect(self) -> None:
        self._disconnect()
        self.turns.turn()
        time.sleep(NEXT_NODE_SECONDS)


def _line(turns: Turns, pace: Pace) -> Callable[[], SqsLine]:
    return lambda: SqsLine(turns.node.sqs, turns.node.credentials, pace.answer_seconds_max)


class Sender(_Impatient, Producer):
    """Keeps some messages waiting."""

    def __init__(
        self, nodes: Sequence[Node], timeline: Timeline, url: str, ledger: QueueLedger, pace: Pace
    ) -> None:
        self.turns = Turns(nodes)
        fifo = url.endswith(".fifo")
        super().__init__(_line(self.turns, pace), url, ledger, GROUPS, fifo=fifo)
        self._timeline = timeline
        self._client = Client("send", url.rsplit("/", 1)[1])
        self._pace = pace
        self.is_paused = False
        self.refusals = Counter()

    def work(self) -> None:
        if self.is_paused:
            time.sleep(NEXT_NODE_SECONDS)
            return
        began = time.monotonic()
        super().work()
        self._timeline.note(self._client, began, time.monotonic())
        if self.ledger.waiting_count >= WAITING_MIN:
            time.sleep(self._pace.rest_seconds)


class Receiver(_Impatient, Consumer):
    """Receives and deletes."""

    def __init__(
        self, nodes: Sequence[Node], timeline: Timeline, url: str, ledger: QueueLedger, pace: Pace
    ) -> None:
        self.turns = Turns(nodes)
        super().__init__(
            _line(self.turns, pace),
            url,
            ledger,
            visibility=VISIBILITY,
            keeps=lambda delivery: False,
        )
        self._timeline = timeline
        self._client = Client("receive", url.rsplit("/", 1)[1])
        self._pace = pace
        self.refusals = Counter()

    def work(self) -> None:
        began = time.monotonic()
        deliveries = self.receive()
        if deliveries:
            self._timeline.note(self._client, began, time.monotonic())
        if len(deliveries) > 1:
            self.delete_together(deliveries)
        elif deliveries:
            self.delete(deliveries[0])
        is_crowded = self.ledger.waiting_count > WAITING_MAX
        rests = deliveries and not is_crowded
        time.sleep(self._pace.rest_seconds if rests else NEXT_NODE_SECONDS)
