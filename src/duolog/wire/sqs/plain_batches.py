"""Fast path for batches with only the required members, as most are, read into columns.

Only _rows.c implements it: where it could not be built, and for every other batch, the ordinary
decoder is used.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", str, bytes)


class PlainBatch(NamedTuple, Generic[T]):
    """Columns of up to ten entries with distinct ids."""

    queue_url: str
    ids: list[str]
    values: list[T]
    """Bodies to send, in ASCII without forbidden characters; or receipts."""


try:
    from duolog.wire.sqs._rows import plain_deletes, plain_sends
except ImportError:
    # No compiler was present when Duolog was installed.
    DECODERS: dict[str, Callable[[bytes], PlainBatch[bytes] | PlainBatch[str] | None]] = {}
else:

    def _sends(content: bytes) -> PlainBatch[bytes] | None:
        found = plain_sends(content)
        return None if found is None else PlainBatch(*found)

    def _deletes(content: bytes) -> PlainBatch[str] | None:
        found = plain_deletes(content)
        return None if found is None else PlainBatch(*found)

    DECODERS = {"SendMessageBatch": _sends, "DeleteMessageBatch": _deletes}
