"""Batches that say nothing but what every batch has to, as most are, read into columns.

Only _rows.c knows how: where it could not be built, and for every other batch, the decoder of all
requests is asked.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", str, bytes)


class PlainBatch(NamedTuple, Generic[T]):
    """Up to ten entries, whose ids tell them apart."""

    queue_url: str
    ids: list[str]
    values: list[T]
    """Bodies to send, of ASCII that a message may have; or receipts."""


try:
    from duolog.wire.sqs._rows import plain_deletes, plain_sends
except ImportError:
    # There was no compiler where Duolog was installed.
    DECODERS: dict[str, Callable[[bytes], PlainBatch[bytes] | PlainBatch[str] | None]] = {}
else:

    def _sends(content: bytes) -> PlainBatch[bytes] | None:
        found = plain_sends(content)
        return None if found is None else PlainBatch(*found)

    def _deletes(content: bytes) -> PlainBatch[str] | None:
        found = plain_deletes(content)
        return None if found is None else PlainBatch(*found)

    DECODERS = {"SendMessageBatch": _sends, "DeleteMessageBatch": _deletes}
