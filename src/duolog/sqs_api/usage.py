"""Usage counts of queues, as the SQS door meters them."""

from collections.abc import Callable
from typing import Any

from duolog.broker.queues.queues import Queues
from duolog.core.usage.queue_tally import QueueTally
from duolog.core.usage.tally import Tally
from duolog.model.errors import Refusal
from duolog.model.names import parse_queue_arn
from duolog.sqs_api.queue_urls import URLS_REMEMBERED_MAX, QueueUrls

TALLIES = {
    "SendMessage": "sent",
    "SendMessageBatch": "sent",
    "ReceiveMessage": "received",
    "DeleteMessage": "deleted",
    "DeleteMessageBatch": "deleted",
}


class QueueUsage(dict[str, QueueTally]):
    """Tallies by queue URL, the key that requests give, for queues that exist."""

    def __init__(
        self, urls: QueueUrls, queues: Queues, new_tally: Callable[[str], QueueTally]
    ) -> None:
        super().__init__()
        self._urls = urls
        self._queues = queues
        self._new_tally = new_tally

    def __missing__(self, url: str) -> QueueTally:
        if len(self) >= URLS_REMEMBERED_MAX:
            self.clear()
        tally = self[url] = self._new_tally(self._urls.name_in(url))
        return tally

    def count_refused(self, action: str, asked: Any) -> None:
        """Count a request refused before it took effect, if its queue exists."""
        tally = self._tally_of(action, asked, must_exist=True)
        if tally is not None:
            tally.fail()

    def count_other(self, action: str, asked: Any, result: object) -> None:
        """Count a finished action that moves no messages, by its result."""
        is_refused = isinstance(result, Refusal)
        tally = self._tally_of(action, asked, must_exist=is_refused)
        if tally is not None and is_refused:
            tally.fail()
        elif tally is not None:
            tally.count(0, 0)

    def _tally_of(self, action: str, asked: Any, *, must_exist: bool) -> Tally | None:
        """The tally of the request's queue; None if it names none of ours.

        With `must_exist`, made-up names are not counted.
        """
        try:
            name = self._name_in(asked)
            if name is None:
                return None
            if must_exist:
                self._queues.get(name)
        except Refusal:
            return None
        found: Tally = getattr(self._new_tally(name), TALLIES.get(action, "other"))
        return found

    def _name_in(self, asked: Any) -> str | None:
        if (url := getattr(asked, "queue_url", None)) is not None:
            return self._urls.name_in(url)
        if (arn := getattr(asked, "source_arn", None)) is not None:
            return parse_queue_arn(arn)
        name: str | None = getattr(asked, "queue_name", None)
        return name


def count_entries(tally: Tally, done: int, size: int, failed: int) -> None:
    """Count one batch request, with the numbers of its successful and failed entries."""
    tally.count(done, size)
    if failed:
        tally.fail(failed, requests=0)


def body_size(body: str) -> int:
    """Bytes of a body in UTF-8, as it was sent."""
    return len(body) if body.isascii() else len(body.encode())
