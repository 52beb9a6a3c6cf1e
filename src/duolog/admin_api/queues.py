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
from duolog.broker.queues import peeking
from duolog.broker.queues.peeking import Peeked
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queues import Queues
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
        """For a path that begins with /queues."""
        parts = [unquote(part) for part in request.path.split("/")[2:]]
        try:
            match request.method, parts:
                case (("GET" | "HEAD"), []):
                    return self._all()
                case (("GET" | "HEAD"), [name]):
                    return json_answer(200, self._described(self._queues.get(name)))
                case (("GET" | "HEAD"), [name, "messages"]):
                    return self._messages(self._queues.get(name), request.query)
                case "POST", [name, "replay"]:
                    self._queues.get(name)
                    return self._replay(name, request.body)
                case _, ([] | [_] | [_, "messages"]):
                    return wrong_method(READING)
                case _, [_, "replay"]:
                    return wrong_method("POST")
        except Refusal as refusal:
            return _refused(refusal)
        return error_answer(404, "there is nothing here")

    def _all(self) -> Response:
        queues = sorted(self._queues.all(), key=lambda queue: queue.entry.name)
        return json_answer(200, {"queues": [_summary(queue) for queue in queues]})

    def _described(self, queue: Queue) -> dict[str, Any]:
        now_ms = self._queues.clock.now_ms()
        oldest_ms = queue.oldest_sent_ms()
        return {
            **_summary(queue),
            "attributes": attribute_texts(queue.config),
            "tags": dict(queue.entry.tags),
            "topic": queue.topic_name,
            "topic_records": sum(
                partition.data.high_watermark - partition.data.log.start_offset
                for partition in queue.partitions
            ),
            "created_ms": queue.entry.created_ms,
            "oldest_message_age_seconds": (
                None if oldest_ms is None else max(0.0, (now_ms - oldest_ms) / 1000)
            ),
        }

    def _messages(self, queue: Queue, query: str) -> Response:
        asked = dict(parse_qsl(query, keep_blank_values=True))
        unknown = asked.keys() - {"state", "partition", "from", "limit", "id"}
        if unknown:
            raise InvalidParameterValue(f"'{min(unknown)}' is not known here")
        if "id" in asked:
            return _message_by_id(queue, asked["id"])
        limit = _number(asked, "limit", LIMIT_DEFAULT)
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidParameterValue(f"'limit' is from 1 to {LIMIT_MAX}, not {limit}")
        page = peeking.look(
            queue,
            partition=_number(asked, "partition", 0),
            from_offset=_number(asked, "from", 0),
            limit=limit,
            state=asked.get("state"),
        )
        return json_answer(
            200, {"messages": [_message(each) for each in page.messages], "next": page.next_offset}
        )

    async def _replay(self, name: str, body: bytes) -> Response:
        try:
            wanted = msgspec.json.decode(body, type=_Replay)
            return json_answer(
                200, {"messages": await self._queues.replay(name, wanted.from_ms, wanted.to_ms)}
            )
        except msgspec.MsgspecError as error:
            return error_answer(400, f"this needs from_ms and to_ms: {error}")
        except Refusal as refusal:
            return _refused(refusal)


def _summary(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.entry.name,
        "kind": "fifo" if queue.config.fifo else "standard",
        "counts": queue.counts()._asdict(),
        "partitions": len(queue.partitions),
    }


def _message_by_id(queue: Queue, message_id: str) -> Response:
    if not message_id:
        raise InvalidParameterValue("'id' is empty")
    found = peeking.find(queue, message_id)
    if found is None:
        what = f"no message has the id '{message_id}'"
        return error_answer(404, what, code="MessageDoesNotExist")
    return json_answer(200, {"messages": [_message(found)], "next": None})


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
        raise InvalidParameterValue(f"'{name}' is a number, not '{text}'")
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
