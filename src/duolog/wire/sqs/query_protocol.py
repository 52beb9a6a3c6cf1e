"""Query protocol, which older SDKs speak: form-encoded requests and XML answers."""

from duolog.wire.sqs.apis import API_VERSION, Action
from duolog.wire.sqs.errors import Fault
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.query_answer import escape, write_structure
from duolog.wire.sqs.query_form import Form, parse_form, tree_of
from duolog.wire.sqs.query_request import read_structure

__all__ = ["CONTENT_TYPE", "Form", "decode", "encode", "encode_error", "parse_form"]

CONTENT_TYPE = b"text/xml"

_DECLARATION = b'<?xml version="1.0"?>'
_NAMESPACE = f'xmlns="http://queue.amazonaws.com/doc/{API_VERSION}/"'.encode()


def decode(action: Action, form: Form) -> Shape:
    """Decodes a request. Parameters that the action does not know are ignored, as by AWS."""
    return read_structure(action.request, tree_of(form))


def encode(action: Action, result: Shape | None, request_id: bytes) -> bytes:
    """The body of a successful answer."""
    name = action.name.encode()
    parts = [_DECLARATION, b"<%bResponse %b>" % (name, _NAMESPACE)]
    if result is not None:
        parts.append(b"<%bResult>" % name)
        write_structure(result, parts)
        parts.append(b"</%bResult>" % name)
    parts.append(
        b"<ResponseMetadata><RequestId>%b</RequestId></ResponseMetadata></%bResponse>"
        % (request_id, name)
    )
    return b"".join(parts)


def encode_error(fault: Fault, request_id: bytes) -> bytes:
    """The body of an error."""
    return (
        b"%b<ErrorResponse %b><Error><Type>%b</Type><Code>%b</Code><Message>%b</Message>"
        b"<Detail/></Error><RequestId>%b</RequestId></ErrorResponse>"
    ) % (
        _DECLARATION,
        _NAMESPACE,
        escape(fault.type),
        escape(fault.query_code),
        escape(fault.message),
        request_id,
    )
