"""A queue under load from several connections, which may break at any time."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from tests.harness.cluster import Cluster
from tests.harness.node import Node
from tests.harness.queue_clients import Consumer, Producer, Worker
from tests.harness.queue_ledger import Delivery, QueueLedger
from tests.harness.sqs_line import SqsLine

CONSUMERS = 3
VISIBILITY = 2
VISIBILITY_IN_GROUPS = 1
"""For so long a kill stops each group whose messages are on their way to a consumer."""
ANSWER_SECONDS_MAX = 5.0
"""A frozen node keeps its connections, and takes new ones: for so long a client waits for it to
speak before it asks another."""
PROGRESS_SECONDS_MAX = 30.0
DRAIN_SECONDS_MAX = 60.0
LOCKED = "locked"
"""A message group of which the first message is in flight all the time."""
LOCKED_MESSAGES = 5


class Load:
    """The queue, its clients, and what they were told."""

    def __init__(self, node: Node | Cluster, name: str) -> None:
        self.fifo = name.endswith(".fifo")
        self.ledger = QueueLedger(fifo=self.fifo)
        self._connect = lambda: SqsLine(node.sqs, node.credentials, ANSWER_SECONDS_MAX)
        attributes = {"FifoQueue": "true"} if self.fifo else {}
        # Nothing is hurt yet: whoever takes long here is only slow.
        with SqsLine(node.sqs, node.credentials) as wire:
            self.url = wire.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
            if self.fifo:
                self._lock_a_group(wire)
        self.producers = [
            Producer(self._connect, self.url, self.ledger, groups, fifo=self.fifo)
            for groups in (("a", "b", "c"), ("d", "e", "f"))
        ]
        self.consumers = [self._consumer() for _ in range(CONSUMERS)]

    def _lock_a_group(self, wire: SqsLine) -> None:
        for number in range(LOCKED_MESSAGES):
            sent = wire.call(
                "SendMessage",
                QueueUrl=self.url,
                MessageBody=f"{LOCKED} {number}",
                MessageGroupId=LOCKED,
                MessageDeduplicationId=f"{LOCKED}-{number}",
            )
            self.ledger.sent(LOCKED, number, sent["MessageId"])

    def _consumer(self) -> Consumer:
        return Consumer(
            self._connect,
            self.url,
            self.ledger,
            visibility=VISIBILITY_IN_GROUPS if self.fifo else VISIBILITY,
            keeps=self._keeps,
        )

    def _keeps(self, delivery: Delivery) -> bool:
        return delivery.group == LOCKED if self.fifo else delivery.number % 50 == 7

    @property
    def workers(self) -> list[Worker]:
        return [*self.producers, *self.consumers]

    def finish(self) -> None:
        """End the load, and account for every message."""
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.join(30)
        self.ledger.check()
        last = self._consumer()
        for delivery, is_certain in chain.from_iterable(
            consumer.kept.items() for consumer in self.consumers
        ):
            # The receipts are as old as the first rounds.
            is_held = last.release(delivery, PROGRESS_SECONDS_MAX)
            assert is_held or not is_certain, f"{delivery} is not held any more"
        last.drain(DRAIN_SECONDS_MAX)
        self.ledger.check_drained()


@contextmanager
def under_load(*loads: Load) -> Iterator[None]:
    workers = [worker for load in loads for worker in load.workers]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()


def wait_for_progress(loads: Sequence[Load], seconds_max: float = PROGRESS_SECONDS_MAX) -> None:
    """Until each queue has taken in and handed out messages."""
    wanted = [(load, load.ledger.sent_count, load.ledger.received_count) for load in loads]
    deadline = time.monotonic() + seconds_max
    for load, sent, received in wanted:
        while load.ledger.sent_count == sent or load.ledger.received_count == received:
            load.ledger.check()
            assert time.monotonic() < deadline, "nothing is sent or received any more"
            time.sleep(0.002)
