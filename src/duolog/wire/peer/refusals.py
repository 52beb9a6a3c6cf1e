"""Codec of refusals between nodes: class name, text, and attributes."""

from typing import TypeVar

import msgspec

from duolog.model import errors, queue_errors
from duolog.model.errors import PeerFailed, Refusal
from duolog.wire.peer.frames import MalformedFrame

TEXT_CHARS_MAX = 4_000
"""Limit of a refusal's text: it may quote what it refuses, which can be as long as a request."""

Fact = bool | int | str | None
"""Attribute of a refusal, such as the leader that it names."""

KNOWN: dict[str, type[Refusal]] = {
    name: kind
    for module in (errors, queue_errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Refusal) and kind is not Refusal
}

R = TypeVar("R", bound=Refusal)


def encode_refusal(refusal: Refusal) -> bytes:
    facts = {
        name: fact
        for name, fact in vars(refusal).items()
        if fact is None or isinstance(fact, bool | int | str)
    }
    return msgspec.msgpack.encode((type(refusal).__name__, str(refusal)[:TEXT_CHARS_MAX], facts))


def decode_refusal(body: memoryview) -> Refusal:
    """The same refusal; an unknown class becomes PeerFailed. Raises MalformedFrame."""
    try:
        name, text, facts = msgspec.msgpack.decode(body, type=tuple[str, str, dict[str, Fact]])
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"a refusal cannot be read: {error}") from None
    kind = KNOWN.get(name)
    if kind is None:
        return PeerFailed(f"{name}: {text}")
    return _rebuilt(kind, text, facts)


def _rebuilt(kind: type[R], text: str, facts: dict[str, Fact]) -> R:
    # Bypasses the constructor, which builds the text from arguments: text and facts are here
    # already.
    refusal = kind.__new__(kind, text)
    vars(refusal).update(facts)
    return refusal
