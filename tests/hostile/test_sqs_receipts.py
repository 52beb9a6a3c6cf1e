"""Receipts that nobody was given, or that are for something else."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import Queue, error_code

pytestmark = pytest.mark.usefixtures("queues_stay_well")


def settle(queue: Queue, receipt: str) -> list[str]:
    """What deleting and hiding with it are answered with."""
    codes = []
    message = {"ReceiptHandle": receipt}
    for call in (lambda: queue.delete(message), lambda: queue.hide(message, 0)):
        try:
            call()
            codes.append("")
        except ClientError as failure:
            codes.append(error_code(failure))
    return codes


def test_a_forged_receipt_is_refused(queue: Queue) -> None:
    queue.send("x")
    queue.receive_one()
    forged = ["x", "=", "AAAA", "ü", "\u0661" * 40, "a" * 40, "A" * 100_000, "\n", "{}"]
    for receipt in forged:
        assert settle(queue, receipt) == ["ReceiptHandleIsInvalid"] * 2, receipt
    assert queue.counts() == (0, 1, 0)


def test_a_receipt_with_any_bit_changed_is_refused(queue: Queue) -> None:
    queue.send("x")
    receipt = queue.receive_one()["ReceiptHandle"]
    data = urlsafe_b64decode(receipt)
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        forged = urlsafe_b64encode(changed).decode()
        with pytest.raises(queue.sqs.exceptions.ReceiptHandleIsInvalid):
            queue.delete({"ReceiptHandle": forged})
    for length in range(1, len(receipt)):
        with pytest.raises(queue.sqs.exceptions.ReceiptHandleIsInvalid):
            queue.delete({"ReceiptHandle": receipt[:length]})
    assert queue.counts() == (0, 1, 0)


def test_a_receipt_of_another_queue_is_refused(queue: Queue, sqs: Any) -> None:
    other = Queue.create(sqs)
    for each in (queue, other):
        each.send("x")
    mine, theirs = queue.receive_one(), other.receive_one()
    assert settle(queue, theirs["ReceiptHandle"]) == ["ReceiptHandleIsInvalid"] * 2
    assert settle(other, mine["ReceiptHandle"]) == ["ReceiptHandleIsInvalid"] * 2
    assert queue.counts() == other.counts() == (0, 1, 0)


def test_a_stale_receipt_changes_nothing(queue: Queue) -> None:
    queue.send("x")
    stale = queue.receive_one(VisibilityTimeout=0)
    current = queue.receive_one()
    for _ in range(3):
        assert settle(queue, stale["ReceiptHandle"]) == [
            "",
            "AWS.SimpleQueueService.MessageNotInflight",
        ]
    assert queue.counts() == (0, 1, 0)
    queue.delete(current)
    assert settle(queue, stale["ReceiptHandle"]) == ["", "InvalidParameterValue"]
    assert queue.counts() == (0, 0, 0)


def test_a_stale_receipt_of_a_fifo_queue_is_refused(sqs: Any) -> None:
    queue = Queue.create(sqs, FifoQueue=True)
    queue.send("x", MessageGroupId="g", MessageDeduplicationId="d")
    stale = queue.receive_one(VisibilityTimeout=0)
    assert settle(queue, stale["ReceiptHandle"])[0] == "InvalidParameterValue"
    current = queue.receive_one()
    assert settle(queue, stale["ReceiptHandle"])[0] == "InvalidParameterValue"
    queue.delete(current)
    assert queue.counts() == (0, 0, 0)


def test_a_batch_may_name_one_message_twice(queue: Queue) -> None:
    queue.send_all(["a", "b"])
    receipts = [message["ReceiptHandle"] for message in queue.receive()]
    entries = [
        {"Id": str(index), "ReceiptHandle": receipt}
        for index, receipt in enumerate(receipts + receipts)
    ]
    answer = queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries)
    assert len(answer["Successful"]) == 4
    assert queue.counts() == (0, 0, 0)
