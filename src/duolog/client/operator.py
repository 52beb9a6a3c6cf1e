"""Client of the admin API's queue routes."""

from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from duolog.client.errors import Garbled, Refused
from duolog.client.http import HttpAnswer, HttpClient

NO_MESSAGE = "MessageDoesNotExist"
"""Name of the refusal when a peeked message does not exist."""


class Counts(msgspec.Struct):
    ready: int
    in_flight: int
    delayed: int

    @property
    def total(self) -> int:
        return self.ready + self.in_flight + self.delayed


class QueueSummary(msgspec.Struct):
    name: str
    kind: str
    counts: Counts
    partitions: int


class QueueDetails(QueueSummary):
    attributes: dict[str, str]
    tags: dict[str, str]
    topic: str
    """The topic whose records are the queue's messages."""
    topic_records: int
    """Number of the topic's records, those of done messages included."""
    created_ms: int
    oldest_message_age_seconds: float | None


class PeekedMessage(msgspec.Struct):
    id: str
    partition: int
    offset: int
    state: str
    receive_count: int
    visible_ms: int | None
    """Time at which a message in flight becomes visible; None unless in flight."""
    sent_ms: int
    group_id: str | None
    deduplication_id: str | None
    dead_letter_source: str | None
    attributes: dict[str, dict[str, str]]
    body: str


class Page(msgspec.Struct):
    messages: list[PeekedMessage]
    next: int | None
    """Offset of the next page; None at the partition's end."""


class _Queues(msgspec.Struct):
    queues: list[QueueSummary]


class _Replayed(msgspec.Struct):
    messages: int


class _Error(msgspec.Struct):
    error: str
    code: str = ""
    """Name of the refusal, such as `QueueDoesNotExist`; empty if only the status is known."""


class AdminClient(HttpClient):
    async def ask(
        self, method: str, target: str, shape: Any, subject: str, body: bytes = b""
    ) -> Any:
        headers = {"content-type": "application/json"} if body else {}
        answer = await self.request(method, target, headers, body)
        if answer.status != 200:
            error = self.decode(answer, _Error)
            raise Refused(error.code or f"HTTP {answer.status}", subject, error.error)
        return self.decode(answer, shape)

    def decode(self, answer: HttpAnswer, shape: Any) -> Any:
        try:
            return msgspec.json.decode(answer.body, type=shape)
        except msgspec.MsgspecError:
            raise Garbled(f"the address {self.host} is not an admin API") from None


class OperatorClient(AdminClient):
    async def queues(self) -> list[QueueSummary]:
        answered: _Queues = await self.ask("GET", "/queues", _Queues, "the queues")
        return answered.queues

    async def queue(self, name: str) -> QueueDetails:
        found: QueueDetails = await self.ask("GET", _path(name), QueueDetails, _subject(name))
        return found

    async def message(self, name: str, message_id: str) -> PeekedMessage:
        """Finds a message by id and peeks at it, without receiving it."""
        target = f"{_path(name)}/messages?{urlencode({'id': message_id})}"
        page: Page = await self.ask("GET", target, Page, _subject(name))
        return page.messages[0]

    async def messages(
        self, name: str, *, partition: int, from_offset: int, limit: int, state: str | None
    ) -> Page:
        """Peeks at the messages of a partition from an offset on, without receiving them."""
        asked = {"partition": partition, "from": from_offset, "limit": limit}
        query = urlencode(asked if state is None else {**asked, "state": state})
        page: Page = await self.ask("GET", f"{_path(name)}/messages?{query}", Page, _subject(name))
        return page

    async def replay(self, name: str, from_ms: int, to_ms: int) -> int:
        """Makes done messages of that time range ready again; returns their number."""
        body = msgspec.json.encode({"from_ms": from_ms, "to_ms": to_ms})
        target = f"{_path(name)}/replay"
        answered: _Replayed = await self.ask("POST", target, _Replayed, _subject(name), body)
        return answered.messages


def _path(name: str) -> str:
    return f"/queues/{quote(name, safe='')}"


def _subject(name: str) -> str:
    return f"queue '{name}'"
