"""The two protocols that share the door: how each is recognised, read and answered."""

from typing import Any, Protocol

from duolog.model.queue_errors import InvalidAction, MissingAction
from duolog.ports.http import Request, Response
from duolog.wire.sqs import json_protocol, query_protocol
from duolog.wire.sqs.apis import ACTIONS, TARGETS, Action
from duolog.wire.sqs.errors import Fault
from duolog.wire.sqs.messages import Shape

_REQUEST_ID = b"x-amzn-RequestId"
_JSON_TYPE = (b"Content-Type", json_protocol.CONTENT_TYPE)
_XML_TYPE = (b"Content-Type", query_protocol.CONTENT_TYPE)
_BEFORE_ID = b"%b: " % _REQUEST_ID
_BEHIND_ID = b"\r\n%b: %b\r\n" % _JSON_TYPE
_JSON_TYPES = (b"application/x-amz-json", b"application/json")


class WireProtocol(Protocol):
    def open(self, request: Request) -> tuple[Action, Any]:
        """What is asked for, and the content that says how. A refusal when that is unclear."""
        ...

    def decode(self, action: Action, content: Any, path: str) -> Shape: ...

    def is_plain_ascii(self, content: Any) -> bool:
        """Whether all text of the content is ASCII, and certainly without control characters."""
        ...

    def success(self, action: Action, result: Shape | None, request_id: str) -> Response: ...

    def failure(self, fault: Fault, request_id: str) -> Response: ...


class JsonProtocol:
    def open(self, request: Request) -> tuple[Action, bytes]:
        target = request.headers.get(b"x-amz-target", b"")
        action = TARGETS.get(target)
        if action is None:
            raise _no_action(target.decode("latin-1").rpartition(".")[2])
        return action, request.body

    def decode(self, action: Action, content: bytes, path: str) -> Shape:
        return json_protocol.decode(action, content)

    def is_plain_ascii(self, content: bytes) -> bool:
        # JSON allows control characters only as escapes.
        return content.isascii() and content.find(b"\\") < 0

    def success(self, action: Action, result: Shape | None, request_id: str) -> Response:
        headers = _BEFORE_ID + request_id.encode() + _BEHIND_ID
        return Response(200, headers, json_protocol.encode(result))

    def failure(self, fault: Fault, request_id: str) -> Response:
        headers = (
            (_REQUEST_ID, request_id.encode()),
            _JSON_TYPE,
            (b"x-amzn-query-error", fault.query_error),
        )
        return Response(fault.http_status, headers, json_protocol.encode_error(fault))


class QueryProtocol:
    def open(self, request: Request) -> tuple[Action, query_protocol.Form]:
        form = query_protocol.parse_form(request.body)
        if request.query:
            form = query_protocol.parse_form(request.query.encode("latin-1")) | form
        name = form.get("Action", "")
        action = ACTIONS.get(name)
        if action is None:
            raise _no_action(name)
        return action, form

    def decode(self, action: Action, content: query_protocol.Form, path: str) -> Shape:
        # Older clients send a request to the queue's own address, and name it no further.
        return query_protocol.decode(action, content, queue_url=None if path == "/" else path)

    def is_plain_ascii(self, content: query_protocol.Form) -> bool:
        return False

    def success(self, action: Action, result: Shape | None, request_id: str) -> Response:
        headers = ((_REQUEST_ID, request_id.encode()), _XML_TYPE)
        return Response(200, headers, query_protocol.encode(action, result, request_id))

    def failure(self, fault: Fault, request_id: str) -> Response:
        headers = ((_REQUEST_ID, request_id.encode()), _XML_TYPE)
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
