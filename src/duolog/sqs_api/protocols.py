"""The two protocols that share the door: how each is recognised, decoded and encoded."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from duolog.model.queue_errors import InvalidAction, MissingAction
from duolog.ports.http import Request, Response
from duolog.wire.sqs import json_protocol, query_protocol
from duolog.wire.sqs.apis import ACTIONS, TARGETS, Action
from duolog.wire.sqs.errors import Fault
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.plain_batches import DECODERS, PlainBatch
from duolog.wire.sqs.rows import Rows, Table

_REQUEST_ID = b"x-amzn-RequestId"
_JSON_TYPE = (b"Content-Type", json_protocol.CONTENT_TYPE)
_XML_TYPE = (b"Content-Type", query_protocol.CONTENT_TYPE)
_BEFORE_ID = b"%b: " % _REQUEST_ID
_BEHIND_ID = b"\r\n%b: %b\r\n" % _JSON_TYPE
_JSON_TYPES = (b"application/x-amz-json", b"application/json")


class WireProtocol(Protocol):
    names_action_in_head: bool
    """True if the HTTP head alone determines the action."""

    def open(self, request: Request) -> tuple[Action, Any]:
        """The action and its undecoded content. Raises a refusal if no known action is named."""
        ...

    def decode(self, action: Action, content: Any) -> Shape: ...

    def plain_decoder(self, action: Action) -> Callable[[Any], PlainBatch[Any] | None] | None:
        """A faster decoder for plain batches, which returns None for all else; None if there is
        none."""
        ...

    def is_plain_ascii(self, content: Any) -> bool:
        """True if all text of the content is known to be ASCII without control characters."""
        ...

    def success(self, action: Action, result: Shape | None, request_id: bytes) -> Response: ...

    def successes(
        self, action: Action, rows: Rows, table: Table, request_ids: Iterable[bytes]
    ) -> Iterable[Response]:
        """Encode several results at once, from a table of columns."""
        ...

    def failure(self, fault: Fault, request_id: bytes) -> Response: ...


class JsonProtocol:
    names_action_in_head = True
    decode = staticmethod(json_protocol.decode)

    def open(self, request: Request) -> tuple[Action, bytes]:
        target = request.headers.get(b"x-amz-target", b"")
        action = TARGETS.get(target)
        if action is None:
            raise _no_action(target.decode("latin-1").rpartition(".")[2])
        return action, request.body

    def plain_decoder(self, action: Action) -> Callable[[Any], PlainBatch[Any] | None] | None:
        return DECODERS.get(action.name)

    def is_plain_ascii(self, content: bytes) -> bool:
        # JSON allows control characters only as escapes, so no backslash means none.
        return content.isascii() and content.find(b"\\") < 0

    def success(self, action: Action, result: Shape | None, request_id: bytes) -> Response:
        headers = _BEFORE_ID + request_id + _BEHIND_ID
        return Response(200, headers, json_protocol.encode(result))

    def successes(
        self, action: Action, rows: Rows, table: Table, request_ids: Iterable[bytes]
    ) -> Iterable[Response]:
        return [
            Response(200, _BEFORE_ID + request_id + _BEHIND_ID, body)
            for body, request_id in zip(rows.json(table), request_ids, strict=False)
        ]

    def failure(self, fault: Fault, request_id: bytes) -> Response:
        headers = (
            (_REQUEST_ID, request_id),
            _JSON_TYPE,
            (b"x-amzn-query-error", fault.query_error),
        )
        return Response(fault.http_status, headers, json_protocol.encode_error(fault))


class QueryProtocol:
    names_action_in_head = False
    decode = staticmethod(query_protocol.decode)

    def open(self, request: Request) -> tuple[Action, query_protocol.Form]:
        form = query_protocol.parse_form(request.body)
        if request.query:
            form = query_protocol.parse_form(request.query.encode("latin-1")) | form
        name = form.get("Action", "")
        action = ACTIONS.get(name)
        if action is None:
            raise _no_action(name)
        if request.path != "/":
            # Older clients post to the queue's own URL and do not repeat it in the form.
            form.setdefault("QueueUrl", request.path)
        return action, form

    def plain_decoder(self, action: Action) -> None:
        return None

    def is_plain_ascii(self, content: query_protocol.Form) -> bool:
        return False

    def success(self, action: Action, result: Shape | None, request_id: bytes) -> Response:
        headers = ((_REQUEST_ID, request_id), _XML_TYPE)
        return Response(200, headers, query_protocol.encode(action, result, request_id))

    def successes(
        self, action: Action, rows: Rows, table: Table, request_ids: Iterable[bytes]
    ) -> Iterable[Response]:
        return [
            self.success(action, result, request_id)
            for result, request_id in zip(rows.shapes(table), request_ids, strict=False)
        ]

    def failure(self, fault: Fault, request_id: bytes) -> Response:
        headers = ((_REQUEST_ID, request_id), _XML_TYPE)
        return Response(fault.http_status, headers, query_protocol.encode_error(fault, request_id))


_JSON = JsonProtocol()
_QUERY = QueryProtocol()


def protocol_of(request: Request) -> WireProtocol:
    headers = request.headers
    if b"x-amz-target" in headers or headers.get(b"content-type", b"").startswith(_JSON_TYPES):
        return _JSON
    return _QUERY


def _no_action(name: str) -> MissingAction | InvalidAction:
    if not name:
        return MissingAction("The request must contain the parameter Action.")
    return InvalidAction(f"The action {name} is not valid for this endpoint.")
