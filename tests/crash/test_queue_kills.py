"""Queues outlive a kill: nothing acknowledged is lost, undone, or seen out of its order."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import pytest
from tests.harness.node import Node
from tests.harness.queue_ledger import Delivery, QueueLedger
from tests.harness.queue_load import Consumer, Producer, Worker
from tests.harness.sqs_wire import SqsWire

ROUNDS = int(os.environ.get("DUOLOG_CRASH_ROUNDS", "50"))
KILL_SECONDS_MIN, KILL_SECONDS_MAX = 0.05, 0.35
PROGRESS_SECONDS_MAX = 10.0
DRAIN_SECONDS_MAX = 60.0
CONSUMERS = 3
VISIBILITY = 2
LOCKED = "locked"
"""A message group of which the first message is in flight all the time."""
LOCKED_MESSAGES = 5


class Load:
    """A queue under load from several connections, and what they were told."""

    def __init__(self, node: Node, name: str) -> None:
        self.fifo = name.endswith(".fifo")
        self.ledger = QueueLedger(fifo=self.fifo)
        self._address = lambda: node.sqs
        attributes = {"FifoQueue": "true"} if self.fifo else {}
        with SqsWire(node.sqs) as wire:
            self.url = wire.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
            if self.fifo:
                self._lock_a_group(wire)
        self.producers = [
            Producer(self._address, self.url, self.ledger, groups, fifo=self.fifo)
            for groups in (("a", "b", "c"), ("d", "e", "f"))
        ]
        self.consumers = [self._consumer() for _ in range(CONSUMERS)]

    def _lock_a_group(self, wire: SqsWire) -> None:
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
            self._address, self.url, self.ledger, visibility=VISIBILITY, keeps=self._keeps
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
            assert last.hide(delivery, 0) or not is_certain, f"{delivery} is not held any more"
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


def wait_for_progress(loads: list[Load]) -> None:
    """Until each queue has taken in and handed out messages."""
    wanted = [(load, load.ledger.sent_count, load.ledger.received_count) for load in loads]
    deadline = time.monotonic() + PROGRESS_SECONDS_MAX
    for load, sent, received in wanted:
        while load.ledger.sent_count == sent or load.ledger.received_count == received:
            load.ledger.check()
            assert time.monotonic() < deadline, "nothing is sent or received any more"
            time.sleep(0.002)


@pytest.mark.timeout(120 + 5 * ROUNDS)
def test_a_killed_node_keeps_what_it_said_about_its_messages(
    node: Node, chance: random.Random
) -> None:
    loads = [Load(node, "numbers"), Load(node, "numbers.fifo")]
    with under_load(*loads):
        for _ in range(ROUNDS):
            wait_for_progress(loads)
            time.sleep(chance.uniform(KILL_SECONDS_MIN, KILL_SECONDS_MAX))
            node.kill()
            node.check_log()
            node.restart()
        for load in loads:
            load.finish()
    for load in loads:
        ledger = load.ledger
        print(
            f"{load.url}: {ledger.sent_count} sent, {ledger.received_count} received,"
            f" {ledger.deleted_count} surely deleted over {ROUNDS} kills"
        )
        assert ledger.deleted_count > ROUNDS, "too little was done to prove anything"
        assert any(consumer.kept for consumer in load.consumers)
