"""Sends to a FIFO queue: tens of messages, each of another group than the one before."""

from collections.abc import Iterator

from bench.http_load import sqs_request
from bench.processes import Server
from bench.workloads.queues_flow import TENS

GROUPS = 100


def ordered_sends(node: Server, url: str, numbers: range, *, body_bytes: int) -> Iterator[bytes]:
    """The number of a message is its deduplication id too, so none may be used twice."""
    body = "x" * body_bytes
    for first in range(numbers.start, numbers.stop, TENS):
        entries = [
            {
                "Id": str(number - first),
                "MessageBody": body,
                "MessageGroupId": f"group-{number % GROUPS}",
                "MessageDeduplicationId": str(number),
            }
            for number in range(first, first + TENS)
        ]
        fields = {"QueueUrl": url, "Entries": entries}
        yield sqs_request("SendMessageBatch", fields, host=node.address)
