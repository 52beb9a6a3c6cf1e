"""A queue whose records of what was received and deleted are damaged: no message is lost."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.sqs_line import SqsLine
from tests.harness.stored import batch_positions, flip_bit

from duolog.records.header import HEADER_BYTES
from duolog.records.iterator import iter_batches, iter_records
from duolog.records.journal_head import decode_head

MESSAGES = 20
QUEUE = "orders"
JOURNAL = "__queue.orders"


def create(wire: SqsLine) -> str:
    return str(wire.call("CreateQueue", QueueName=QUEUE)["QueueUrl"])


def send_and_take(wire: SqsLine, url: str) -> dict[str, dict[str, Any]]:
    """Send messages one by one and receive each, so that each has a record of its own."""
    for number in range(MESSAGES):
        wire.call("SendMessage", QueueUrl=url, MessageBody=str(number))
    taken = {}
    for _ in range(MESSAGES):
        (message,) = receive(wire, url, 1)
        taken[message["Body"]] = message
    return taken


def receive(wire: SqsLine, url: str, count: int) -> list[dict[str, Any]]:
    answer = wire.call(
        "ReceiveMessage",
        QueueUrl=url,
        MaxNumberOfMessages=count,
        VisibilityTimeout=3_600,
        MessageSystemAttributeNames=["All"],
    )
    return list(answer.get("Messages", ()))


def counts(wire: SqsLine, url: str) -> tuple[int, int]:
    answer = wire.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
    ready, hidden = "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"
    return int(answer[ready]), int(answer[hidden])


def damage(file: Path, batch: int) -> None:
    """Flip a bit in one of the batches of a segment."""
    position = list(batch_positions(file).values())[batch]
    flip_bit(file, position, HEADER_BYTES + 10)


def damage_snapshots(file: Path) -> int:
    """Flip a bit in each piece of a snapshot; how many there are."""
    damaged = 0
    for header, batch in iter_batches(file.read_bytes()):
        (record,) = iter_records(batch, decompressed_bytes_max=1 << 20)
        if decode_head(record.key).pieces:
            flip_bit(file, batch_positions(file)[header.base_offset], HEADER_BYTES + 60)
            damaged += 1
    return damaged


def test_a_damaged_change_costs_only_itself(node: Node) -> None:
    with node:
        with SqsLine(node.sqs) as wire:
            url = create(wire)
            taken = send_and_take(wire, url)
            for body in ("3", "4", "5"):
                wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=taken[body]["ReceiptHandle"])
        node.kill()
        (journal,) = node.segments(JOURNAL)
        damage(journal, 7)
        damage(journal, MESSAGES + 1)
        node.start()
        assert "delivery records damaged" in node.log_text
        with SqsLine(node.sqs) as wire:
            # That one was received is forgotten, and that one was deleted: both come again.
            assert counts(wire, url) == (1, MESSAGES - 3)
            (again,) = receive(wire, url, 10)
            assert (again["Body"], again["Attributes"]["ApproximateReceiveCount"]) == ("7", "1")
            wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=taken["4"]["ReceiptHandle"])
            assert counts(wire, url) == (0, MESSAGES - 3)


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_a_damaged_snapshot_is_replaced_by_what_it_was_made_from(node: Node, clean: bool) -> None:
    with node:
        with SqsLine(node.sqs) as wire:
            url = create(wire)
            taken = send_and_take(wire, url)
            wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=taken["3"]["ReceiptHandle"])
        node.restart()
        if clean:
            node.stop()
        else:
            node.kill()
        (journal,) = node.segments(JOURNAL)
        assert damage_snapshots(journal)
        node.start()
        with SqsLine(node.sqs) as wire:
            assert counts(wire, url) == (0, MESSAGES - 1)
            assert receive(wire, url, 10) == []
            for body in taken.keys() - {"3"}:
                wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=taken[body]["ReceiptHandle"])
            assert counts(wire, url) == (0, 0)


def test_a_damaged_message_is_passed_over_and_the_others_are_delivered(node: Node) -> None:
    with node:
        with SqsLine(node.sqs) as wire:
            url = create(wire)
            for number in range(MESSAGES):
                wire.call("SendMessage", QueueUrl=url, MessageBody=str(number) * 20)
        node.kill()
        (segment,) = node.segments(QUEUE)
        damage(segment, 7)
        node.start()
        deadline = time.monotonic() + 10
        bodies: set[str] = set()
        with SqsLine(node.sqs) as wire:
            while len(bodies) < MESSAGES - 1 and time.monotonic() < deadline:
                bodies |= {message["Body"] for message in receive(wire, url, 10)}
            assert bodies == {str(each) * 20 for each in range(MESSAGES) if each != 7}
            assert counts(wire, url) == (0, MESSAGES - 1)
