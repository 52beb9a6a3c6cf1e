"""Queues on a disk that is full, fails, or loses its power: what is told is true all the same."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.mounts import PowerCut, small_file_system
from tests.harness.node import Node
from tests.harness.queue_load import Load, under_load, wait_for_progress
from tests.harness.sqs_line import Refused, SqsLine
from tests.harness.strace import inject, needs_strace

from duolog.broker.queues.journal import RETRY_MS

MIB = 1 << 20
DISK_BYTES = 16 * MIB
IMAGE_BYTES = 512 * MIB
POWER_CUTS = int(os.environ.get("DUOLOG_POWER_CUTS", "5"))
MESSAGES = 2_000
HIDDEN_SECONDS = 3_600
TRIES_MAX = 1_000


class Orders:
    """A queue, in the words that these tests need."""

    def __init__(self, wire: SqsLine) -> None:
        self._wire = wire
        self._url = wire.call("CreateQueue", QueueName="orders")["QueueUrl"]

    def send(self, *bodies: str) -> None:
        entries = [{"Id": body, "MessageBody": body} for body in bodies]
        answer = self._wire.call("SendMessageBatch", QueueUrl=self._url, Entries=entries)
        assert not answer.get("Failed"), answer

    def receive(self, count: int = 1) -> list[dict[str, Any]]:
        answer = self._wire.call(
            "ReceiveMessage",
            QueueUrl=self._url,
            MaxNumberOfMessages=count,
            VisibilityTimeout=HIDDEN_SECONDS,
            MessageSystemAttributeNames=["All"],
        )
        return list(answer.get("Messages", ()))

    def delete(self, message: dict[str, Any]) -> None:
        receipt = message["ReceiptHandle"]
        self._wire.call("DeleteMessage", QueueUrl=self._url, ReceiptHandle=receipt)

    def counts(self) -> tuple[int, int]:
        """Ready and in flight."""
        asked = self._wire.call("GetQueueAttributes", QueueUrl=self._url, AttributeNames=["All"])
        suffixes = ("", "NotVisible")
        ready, hidden = (asked["Attributes"][f"ApproximateNumberOfMessages{s}"] for s in suffixes)
        return int(ready), int(hidden)


def fill(file: Path) -> None:
    """Until not a byte is left."""
    with file.open("wb", buffering=0) as ballast:
        for size in (MIB, 4096, 1):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError:
                pass


def use_up(disk: Path, orders: Orders) -> int:
    """Fill the disk again and again, the freed reserve included, until a receive is refused.

    Returns how many messages came. What is left of the last page has room for some records.
    """
    for received in range(TRIES_MAX):
        fill(disk / f"ballast.{received}")
        try:
            assert len(orders.receive()) == 1
        except Refused:
            return received
    raise AssertionError("the disk is not full")


def test_a_used_up_reserve_refuses_receives_and_deletions_and_forgets_nothing(
    tmp_path: Path,
) -> None:
    with (
        small_file_system(tmp_path / "disk", DISK_BYTES) as disk,
        Node(tmp_path / "node", data=disk / "data") as node,
    ):
        with SqsLine(node.sqs) as wire:
            orders = Orders(wire)
            for first in range(0, MESSAGES, 10):
                orders.send(*(str(each) for each in range(first, first + 10)))
            held = [message for _ in range(20) for message in orders.receive(10)]
            received = len(held) + use_up(disk, orders)
            with pytest.raises(Refused):
                orders.delete(held[0])
            assert orders.counts() == (MESSAGES - received, received)
            assert "used up" in node.asked("/readyz").decode()

            for ballast in disk.glob("ballast.*"):
                ballast.unlink()
            time.sleep(RETRY_MS / 1000)
            orders.delete(held[0])
            (message,) = orders.receive()
            assert message["Attributes"]["ApproximateReceiveCount"] == "1"
            assert orders.counts() == (MESSAGES - received - 1, received)
        node.kill()
        node.start()
        with SqsLine(node.sqs) as wire:
            orders = Orders(wire)
            assert orders.counts() == (MESSAGES - received - 1, received)
            orders.delete(held[1])
            orders.send("another")
            assert orders.counts() == (MESSAGES - received, received - 1)


@needs_strace
def test_a_delivery_that_could_not_be_made_durable_is_told_to_nobody(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    with SqsLine(node.sqs) as wire:
        orders = Orders(wire)
        orders.send("a", "b", "c")
        (first,) = orders.receive()
    node.stop()
    (journal,) = node.segments("__queue.orders")
    node.wrapper = inject(journal, "fdatasync", "error=EIO:when=2+")
    node.start()
    with SqsLine(node.sqs) as wire:
        orders = Orders(wire)
        orders.delete(first)
        with pytest.raises((Refused, OSError)):
            orders.receive()
    assert node.wait() == 1
    assert "storage failed" in node.log_text
    node.check_log()

    node.wrapper = []
    with node, SqsLine(node.sqs) as wire:
        orders = Orders(wire)
        # The delivery that nobody was told of may have happened, or not.
        assert orders.counts() in ((2, 0), (1, 1))
        assert first["Body"] not in {each["Body"] for each in orders.receive(10)}


@pytest.fixture
def power(tmp_path: Path) -> Iterator[PowerCut]:
    cut = PowerCut(tmp_path / "disk", IMAGE_BYTES)
    yield cut
    cut.remove()


@pytest.mark.timeout(180 + 10 * POWER_CUTS)
def test_a_power_cut_undoes_nothing_that_was_told(power: PowerCut, tmp_path: Path) -> None:
    chance = random.Random(POWER_CUTS)
    node = Node(tmp_path / "node", data=power.mounted / "data").start()
    loads = [Load(node, "numbers"), Load(node, "numbers.fifo")]
    with under_load(*loads):
        for _ in range(POWER_CUTS):
            wait_for_progress(loads)
            time.sleep(chance.uniform(0.05, 0.4))
            # The processor stops with the disk: nobody must be told of a sync that did nothing.
            node.freeze()
            power.cut()
            node.kill()
            power.unmount()
            power.mount()
            node.start()
        for load in loads:
            load.finish()
    node.stop()
