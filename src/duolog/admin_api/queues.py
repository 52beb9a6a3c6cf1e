"""Queues, as operators and consoles look at them.

GET  /queues                       every queue with its counts
GET  /queues/<name>                one queue: counts, attributes, tags
GET  /queues/<name>/messages       its messages, unreceived: ?state= partition= from= limit= id=
POST /queues/<name>/replay         {"from_ms": …, "to_ms": …}: deleted messages come again
"""

from collections.abc import Coroutine
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote

import msgspec

from duolog.admin_api.answers import READING, error_answer, json_answer, wrong_method
from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.peeking import Peeked
from duolog.broker.queues.queue import Counts
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.routing.requests import Level
from duolog.config.queue import attribute_texts
from duolog.core.queues.message import BINARY
from duolog.model.errors import Refusal
from duolog.model.limits import TIMESTAMP_MS_MAX
from duolog.model.queue_errors import InvalidParameterValue, QueueDoesNotExist
from duolog.ports.http import Request, Response

PREFIX = "/queues"
LIMIT_DEFAULT = 10
LIMIT_MAX = 1_000

Answer = Response | Coroutine[Any, Any, Response]


_Time = Annotated[int, msgspec.Meta(ge=0, le=TIMESTAMP_MS_MAX)]


class _Replay(msgspec.Struct, forbid_unknown_fields=True):
    from_ms: _Time
    to_ms: _Time

    def __post_init__(self) -> None:
        if self.from_ms >= self.to_ms:
            raise ValueError("to_ms is not after from_ms")


class QueuePages:
    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    def answer(self, request: Request) -> Answer:
        """Serve a request whose path begins with /queues."""
        parts = [unquote(part) for part in request.path.split("/")[2:]]
        try:
            match request.method, parts:
                case (("GET" | "HEAD"), []):
                    return _answered(self._all())
                case (("GET" | "HEAD"), [name]):
                    return _answered(self._described(self._queues.local(name).entry))
                case (("GET" | "HEAD"), [name, "messages"]):
                    self._queues.local(name)
                    return _answered(self._messages(name, request.query))
                case "POST", [name, "replay"]:
                    self._queues.local(name)
                    return _answered(self._replay(name, request.body))
                case _, ([] | [_] | [_, "messages"]):
                    return wrong_method(READING)
                case _, [_, "replay"]:
                    return wrong_method("POST")
        except Refusal as refusal:
            return _refused(refusal)
        return error_answer(404, "there is no such page")

    async def _all(self) -> Response:
        entries = sorted((queue.entry for queue in self._queues.all()), key=lambda each: each.name)
        summaries = [
            self._summary(entry, await self._queues.level(entry.name)) for entry in entries
        ]
        return json_answer(200, {"queues": summaries})

    async def _described(self, entry: QueueEntry) -> Response:
        now_ms = self._queues.clock.now_ms()
        level = await self._queues.level(entry.name)
        oldest_ms = level.oldest_sent_ms
        described = {
            **self._summary(entry, level),
            "attributes": attribute_texts(entry.config),
            "tags": dict(entry.tags),
            "topic": entry.config.source_topic or entry.name,
            "topic_records": level.records,
            "created_ms": entry.created_ms,
            "oldest_message_age_seconds": (
                None if oldest_ms is None else max(0.0, (now_ms - oldest_ms) / 1000)
            ),
        }
        return json_answer(200, described)

    def _summary(self, entry: QueueEntry, level: Level) -> dict[str, Any]:
        topic = self._queues.broker.catalog.topics.get(entry.config.source_topic or entry.name)
        return {
            "name": entry.name,
            "kind": "fifo" if entry.config.fifo else "standard",
            "counts": {name: getattr(level, name) for name in Counts._fields},
            "partitions": 0 if topic is None else topic.partitions,
        }

    async def _messages(self, name: str, query: str) -> Response:
        asked = dict(parse_qsl(query, keep_blank_values=True))
        unknown = asked.keys() - {"state", "partition", "from", "limit", "id"}
        if unknown:
            raise InvalidParameterValue(f"'{min(unknown)}' is not a parameter of this page")
        if "id" in asked:
            return await self._message_by_id(name, asked["id"])
        limit = _number(asked, "limit", LIMIT_DEFAULT)
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidParameterValue(f"'limit' must be from 1 to {LIMIT_MAX}, not {limit}")
        page = await self._queues.look(
            name,
            partition=_number(asked, "partition", 0),
            from_offset=_number(asked, "from", 0),
            limit=limit,
            state=asked.get("state"),
        )
        return json_answer(
            200, {"messages": [_message(each) for each in page.messages], "next": page.next_offset}
        )

    async def _message_by_id(self, name: str, message_id: str) -> Response:
        if not message_id:
            raise InvalidParameterValue("'id' is empty")
        found = await self._queues.find_message(name, message_id)
        if found is None:
            what = f"no message has the id '{message_id}'"
            return error_answer(404, what, code="MessageDoesNotExist")
        return json_answer(200, {"messages": [_message(found)], "next": None})

    async def _replay(self, name: str, body: bytes) -> Response:
        try:
            wanted = msgspec.json.decode(body, type=_Replay)
        except msgspec.MsgspecError as error:
            return error_answer(400, f"the body must give from_ms and to_ms: {error}")
        replayed = await self._queues.replay(name, wanted.from_ms, wanted.to_ms)
        return json_answer(200, {"messages": replayed})


async def _answered(answer: Coroutine[Any, Any, Response]) -> Response:
    try:
        return await answer
    except Refusal as refusal:
        return _refused(refusal)


def _message(peeked: Peeked) -> dict[str, Any]:
    message = peeked.message
    return {
        "id": peeked.message_id,
        "partition": peeked.partition,
        "offset": peeked.offset,
        "state": peeked.state,
        "receive_count": peeked.receive_count,
        "visible_ms": peeked.visible_ms,
        "sent_ms": message.sent_ms,
        "group_id": message.group_id,
        "deduplication_id": message.deduplication_id,
        "dead_letter_source": message.dead_letter_source,
        "attributes": {
            name: {
                "type": attribute.data_type,
                # msgspec writes bytes in base64.
                "value": (
                    attribute.value
                    if attribute.data_type.startswith(BINARY)
                    else attribute.value.decode(errors="replace")
                ),
            }
            for name, attribute in message.attributes.items()
        },
        "body": message.body,
    }


def _number(asked: dict[str, str], name: str, default: int) -> int:
    text = asked.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise InvalidParameterValue(f"'{name}' must be a number, not '{text}'")
    return int(text)


def _refused(refusal: Refusal) -> Response:
    code = type(refusal).__name__
    match refusal:
        case QueueDoesNotExist():
            return error_answer(404, "there is no such queue", code=code)
        case InvalidParameterValue():
            return error_answer(400, str(refusal), code=code)
        case _:
            return error_answer(503, str(refusal), code=code)
