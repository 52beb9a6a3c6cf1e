"""Messages of etcd, as its gateway writes them in JSON.

The gateway leaves out zeroes, writes 64-bit integers as text, and bytes as base64; msgspec reads
all three. Only the fields that are used are named.
"""

from typing import Any, Generic, TypeVar

import msgspec

from duolog.adapters.etcd.failures import NoAnswer, Refused


class Header(msgspec.Struct):
    cluster_id: str = ""
    revision: int = 0


class KeyValue(msgspec.Struct):
    key: bytes
    value: bytes = b""
    mod_revision: int = 0
    lease: int = 0


class Answer(msgspec.Struct):
    header: Header


class RangeAnswer(Answer):
    kvs: list[KeyValue] = []
    more: bool = False


class TransactionAnswer(Answer):
    succeeded: bool = False


class LeaseAnswer(Answer):
    """Answer to granting, keeping alive and revoking a lease."""

    ID: int = 0
    TTL: int = 0
    """Remaining time in seconds; omitted, as zero, when a lease to be kept alive is gone."""


class TokenAnswer(Answer):
    token: str


class Event(msgspec.Struct):
    kv: KeyValue
    type: str = "PUT"


class WatchAnswer(Answer):
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    fragment: bool = False
    """True if more events of the last revision may come with the next message."""
    events: list[Event] = []


A = TypeVar("A", bound=Answer)


class _StreamError(msgspec.Struct):
    message: str = ""
    grpc_code: int = 2


class _Streamed(msgspec.Struct):
    """A line of a streamed answer, with exactly one of the two fields."""

    result: msgspec.Raw = msgspec.Raw()
    error: _StreamError | None = None


class _Error(msgspec.Struct):
    code: int
    message: str = ""
    error: str = ""


_SHOWN_CHARS_MAX = 120
_errors = msgspec.json.Decoder(_Error, strict=False)
_streamed = msgspec.json.Decoder(_Streamed, strict=False)


class Decoder(Generic[A]):
    """Decodes answers of one kind. Raises Refused, and NoAnswer for anything else."""

    def __init__(self, kind: type[A], *, streamed: bool = False) -> None:
        """`streamed` is for calls whose answers the gateway wraps in `result`, as in a stream."""
        self._answers = msgspec.json.Decoder(kind, strict=False)
        self._is_streamed = streamed

    def read(self, body: bytes) -> A:
        try:
            return self._answers.decode(_unwrapped(body) if self._is_streamed else body)
        except msgspec.DecodeError as error:
            raise NoAnswer(f"its answer {_shown(body)} cannot be understood: {error}") from None


def _unwrapped(line: bytes) -> msgspec.Raw:
    streamed = _streamed.decode(line)
    if streamed.error is not None:
        raise Refused(streamed.error.grpc_code, streamed.error.message)
    return streamed.result


def refusal(status: int, body: bytes) -> Refused | NoAnswer:
    """The failure in an answer whose status is not 200."""
    try:
        error = _errors.decode(body)
    except msgspec.DecodeError:
        return NoAnswer(
            f"it answers with status {status} and {_shown(body)}, which is not how the gateway of"
            " etcd 3.4 or newer answers"
        )
    return Refused(error.code, error.message or error.error)


def encode(request: dict[str, Any]) -> bytes:
    return msgspec.json.encode(request)


def _shown(body: bytes) -> str:
    text = body[:_SHOWN_CHARS_MAX].decode("utf-8", "replace")
    return repr(text) + (" ..." if len(body) > _SHOWN_CHARS_MAX else "")
