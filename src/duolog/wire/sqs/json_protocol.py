"""JSON 1.0 protocol, which today's SDKs speak.

Decoders are made once per action, and check names and types while they read.
"""

import re

import msgspec

from duolog.model.queue_errors import MissingParameter, QueueRefusal, SerializationException
from duolog.wire.sqs.apis import ACTIONS, Action
from duolog.wire.sqs.errors import Fault
from duolog.wire.sqs.messages import Shape

CONTENT_TYPE = b"application/x-amz-json-1.0"

_DECODERS = {
    action.name: msgspec.json.Decoder(action.request).decode for action in ACTIONS.values()
}
_ENCODE = msgspec.json.Encoder().encode

# msgspec's wording of its findings; a test compares each with the installed version.
_MISSING = re.compile(r"Object missing required field `(\w+)`(?: - at `\$(.*)`)?")
_NULL = re.compile(r"Expected `(?:str|int|array|object)`, got `null` - at `\$(.*)`")


def decode(action: Action, body: bytes) -> Shape:
    """Decodes a request. Members that the action does not know are ignored, as by AWS."""
    try:
        return _DECODERS[action.name](body or b"{}")
    except RecursionError:
        raise SerializationException("The request is nested too deeply.") from None
    except UnicodeDecodeError:
        raise SerializationException("The request is not valid UTF-8.") from None
    except msgspec.DecodeError as problem:
        raise _refusal(str(problem)) from None


def encode(result: Shape | None) -> bytes:
    """The body of a successful answer."""
    return b"" if result is None else _ENCODE(result)


def encode_error(fault: Fault) -> bytes:
    """The body of an error; its header is `fault.query_error`."""
    return _ENCODE({"__type": fault.json_type, "message": fault.message})


def _refusal(problem: str) -> QueueRefusal:
    if missing := _MISSING.match(problem):
        name, where = missing[1], missing[2] or ""
        return MissingParameter(
            f"The request must contain the parameter {_parameter(f'{where}.{name}')}."
        )
    # A required member that is null counts as missing; an optional one may be null.
    if null := _NULL.fullmatch(problem):
        return MissingParameter(f"The request must contain the parameter {_parameter(null[1])}.")
    return SerializationException(f"The request could not be understood: {problem}.")


def _parameter(path: str) -> str:
    """`.Entries[0].Id` as clients write it: `Entries.1.Id`."""
    return re.sub(r"\[(\d+)\]", lambda index: f".{int(index[1]) + 1}", path).removeprefix(".")
