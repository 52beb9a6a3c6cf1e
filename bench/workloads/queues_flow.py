"""Messages on their way through queues: sent, received, deleted, with requests encoded before."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from bench.driver import LoadFailed
from bench.http_load import HttpShape, join_frames, split_frames, sqs_request
from bench.processes import Server
from bench.samples import Sample
from bench.signature import AccessKey
from bench.sqs import message_count
from bench.stand import HTTP_FLOOR, Stand

Step = Literal["send", "receive", "delete"]
STEPS: tuple[Step, ...] = ("send", "receive", "delete")
CONNECTIONS = 16
TENS = 10
"""The most messages that a request may be about."""
VISIBILITY_SECONDS = 3600
"""What a run received stays received."""
_COUNTED: dict[Step, str | None] = {
    "send": '"MD5OfMessageBody"',
    "receive": '"ReceiptHandle"',
    "delete": None,
}
"""What the answer has once for each message that the step was done for."""


class Flow:
    """The same number of messages each time, evenly over some queues of one server."""

    def __init__(
        self,
        stand: Stand,
        server: Server,
        urls: Sequence[str],
        *,
        messages: int,
        body_bytes: int,
        batch: int = 1,
        key: AccessKey | None = None,
    ) -> None:
        assert messages % (len(urls) * batch) == 0
        self._stand = stand
        self._server = server
        self._urls = urls
        self._messages = messages
        self._batch = batch
        self._key = key
        self._directory = stand.directory / f"flow-{server.pid}-{batch}-{body_bytes}"
        self._directory.mkdir(exist_ok=True)
        self._write("send", [self._send_request(number, body_bytes) for number in self._queues])
        self._write("receive", [self._receive_request(url) for url in urls])

    @property
    def _queues(self) -> range:
        return range(len(self._urls))

    def run(self, step: Step, server: Server, *, connections: int = CONNECTIONS) -> Sample:
        """On our server, or the requests that it got last on the floor, which answers anything."""
        bare = server.name == HTTP_FLOOR
        if step == "delete" and not bare:
            self._write("delete", list(self._delete_requests()))
        shape = HttpShape(
            count=self._messages // self._batch,
            seconds_max=self._stand.scale.seconds_max,
            connections=connections,
            messages=self._batch,
            counted=None if bare else _COUNTED[step],
            capture=self._directory / "received" if step == "receive" and not bare else None,
        )
        sample = self._stand.send_http(server, self._directory / step, shape)
        if sample.messages != self._messages:
            raise LoadFailed(f"{step}: {sample.messages:,} messages of {self._messages:,}")
        return sample

    def check_left(self, messages: int) -> None:
        """A batch in which some deletions failed is answered like any other."""
        left = sum(message_count(self._server.host_and_port, url) for url in self._urls)
        if left != messages:
            raise LoadFailed(f"{left:,} messages are left instead of {messages:,}")

    def _send_request(self, number: int, body_bytes: int) -> bytes:
        # The body says in which queue it is: an answer does not, and a deletion has to.
        body = f"{number} ".ljust(body_bytes, "x")
        if self._batch == 1:
            return self._request("SendMessage", self._urls[number], {"MessageBody": body})
        entries = [{"Id": str(i), "MessageBody": body} for i in range(self._batch)]
        return self._request("SendMessageBatch", self._urls[number], {"Entries": entries})

    def _receive_request(self, url: str) -> bytes:
        fields = {"MaxNumberOfMessages": self._batch, "VisibilityTimeout": VISIBILITY_SECONDS}
        return self._request("ReceiveMessage", url, fields)

    def _delete_requests(self) -> Iterator[bytes]:
        for answer in split_frames((self._directory / "received").read_bytes()):
            messages = json.loads(answer)["Messages"]
            url = self._urls[int(messages[0]["Body"].split()[0])]
            receipts = [message["ReceiptHandle"] for message in messages]
            if self._batch == 1:
                yield self._request("DeleteMessage", url, {"ReceiptHandle": receipts[0]})
            else:
                entries = [{"Id": str(i), "ReceiptHandle": r} for i, r in enumerate(receipts)]
                yield self._request("DeleteMessageBatch", url, {"Entries": entries})

    def _request(self, action: str, url: str, fields: dict[str, Any]) -> bytes:
        fields = {"QueueUrl": url, **fields}
        return sqs_request(action, fields, host=self._server.address, key=self._key)

    def _write(self, step: Step, requests: Sequence[bytes]) -> None:
        (self._directory / step).write_bytes(join_frames(requests))


def fill(stand: Stand, server: Server, url: str, *, messages: int, body_bytes: int) -> None:
    """In pieces, since a million messages take a while."""
    piece = min(messages, 100_000)
    assert messages % piece == 0
    flow = Flow(stand, server, [url], messages=piece, body_bytes=body_bytes, batch=TENS)
    for done in range(0, messages, piece):
        stand.progress(f"queues: {done:,} of {messages:,} messages sent")
        flow.run("send", server)
