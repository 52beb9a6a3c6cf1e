"""Ordered messages: how many a second one FIFO queue takes, and gives away again."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench import sqs
from bench.driver import LoadFailed
from bench.http_line import Line
from bench.http_load import HttpShape, join_frames, sqs_request
from bench.meter import Meter
from bench.processes import Server
from bench.rows import Row
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.queues_flow import TENS
from bench.workloads.queues_ordered import GROUPS, ordered_sends

BODY_BYTES = 1024
CONNECTIONS = 16
POLL_SECONDS = 1
"""A receiver finds nothing while others have a message of every group."""


def run(stand: Stand) -> Iterator[Row]:
    with stand.broker("fsync", door="sqs") as node:
        url = sqs.create_queue(node.host_and_port, "ordered.fifo", {"FifoQueue": "true"})
        queue = _Fifo(stand, node, url, stand.scale.fifo_messages)
        sent, taken = stand.interleave(f"queues: FIFO, {GROUPS} groups", queue.send, queue.take)
        if left := sqs.message_count(node.host_and_port, url):
            raise LoadFailed(f"{left:,} messages are left in the FIFO queue")
    what = f"tens of 1 KB, FIFO, {GROUPS} groups, fsync"
    yield Row("queues/fifo/send", f"SendMessage, {what}", "messages_per_s", summarize(sent))
    title = f"ReceiveMessage + DeleteMessage, {what}"
    yield Row("queues/fifo/receive", title, "messages_per_s", summarize(taken))


@dataclass(frozen=True, slots=True)
class _Fifo:
    stand: Stand
    node: Server
    url: str
    messages: int

    def send(self, number: int) -> Sample:
        first = number * self.messages
        numbers = range(first, first + self.messages)
        requests = list(ordered_sends(self.node, self.url, numbers, body_bytes=BODY_BYTES))
        path = self.stand.directory / "fifo-send"
        path.write_bytes(join_frames(requests))
        seconds_max = self.stand.scale.seconds_max
        shape = HttpShape(len(requests), seconds_max, CONNECTIONS, counted='"SequenceNumber"')
        sample = self.stand.send_http(self.node, path, shape)
        if sample.messages != self.messages:
            raise LoadFailed(f"{sample.messages:,} of {self.messages:,} messages were sent")
        return sample

    def take(self, number: int) -> Sample:
        """Each of the receivers deletes what it has before it asks for more, as consumers do:
        until then, others get nothing of these groups."""
        meter, own_cpu_before, began = Meter(self.node), time.process_time(), time.monotonic()
        taken: list[int] = []
        deadline = began + self.stand.scale.seconds_max
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            ends = list(threads.map(lambda _: self._consume(taken, deadline), range(CONNECTIONS)))
        usage = meter.read(load_cpu_seconds=time.process_time() - own_cpu_before)
        if sum(taken) != self.messages:
            raise LoadFailed(f"{sum(taken):,} of {self.messages:,} messages came out of the queue")
        return Sample(
            seconds=max(ends) - began,
            cpu_seconds=usage.cpu_seconds,
            others_cores=usage.others_cores,
            requests=2 * len(taken),
            messages=self.messages,
        )

    def _consume(self, taken: list[int], deadline: float) -> float:
        """When it last deleted something; `taken` has how many messages each time."""
        receive = self._request(
            "ReceiveMessage", MaxNumberOfMessages=TENS, WaitTimeSeconds=POLL_SECONDS
        )
        ended = time.monotonic()
        with Line(self.node.host_and_port) as line:
            while sum(taken) < self.messages and time.monotonic() < deadline:
                messages = json.loads(line.ask(receive)).get("Messages", [])
                if not messages:
                    continue
                entries = [
                    {"Id": str(i), "ReceiptHandle": message["ReceiptHandle"]}
                    for i, message in enumerate(messages)
                ]
                line.ask(self._request("DeleteMessageBatch", Entries=entries))
                taken.append(len(messages))
                ended = time.monotonic()
        return ended

    def _request(self, action: str, **fields: object) -> bytes:
        return sqs_request(action, {"QueueUrl": self.url, **fields}, host=self.node.address)
