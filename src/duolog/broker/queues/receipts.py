"""Receipt handles: which delivery of which message a consumer speaks of.

A handle names the queue's creation, the partition, the offset, the leader's epoch, how often
the message had been delivered and when, so a stale one never settles a newer delivery: not
even one after a replay, which counts from the beginning again. It is sealed with the cluster's
own key: nobody can make one for a message that was not received.

Messages that lie one behind the other and are given out in one answer share a seal, and each
handle says which of them it is for: who has one of these handles was given them all. Making and
checking the seal is most of the work.
"""

import uuid
from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid

RUN_MAX = 256
"""How many handles share a seal."""

_BODY = Struct(">HQBIIQ")
_SEAL_BYTES = 8
_new_tuple = tuple.__new__
_SEALED_BYTES = _BODY.size + _SEAL_BYTES
_SEALED_CHARS = 2 * _SEALED_BYTES
_PLACES = tuple(f"{place:02x}" for place in range(RUN_MAX))
_PLACE_OF = {text: place for place, text in enumerate(_PLACES)}


class Receipt(NamedTuple):
    partition: int
    offset: int
    receive_count: int
    epoch: int
    received_ms: int


class Receipts:
    """The receipts of one queue."""

    def __init__(self, key: bytes, queue_id: uuid.UUID) -> None:
        self._new_sealer = blake2b(queue_id.bytes, key=key, digest_size=_SEAL_BYTES).copy
        self._opened: tuple[str, tuple[int, ...]] = ("", ())
        """The seal that was checked last, and what it is on: often that of the next handle."""

    def encode(
        self, partition: int, offset: int, receive_count: int, epoch: int, received_ms: int
    ) -> str:
        body = _BODY.pack(partition, offset, 0, receive_count, epoch, received_ms)
        return self._sealed(body) + _PLACES[0]

    def encode_runs(
        self, partition: int, offset: int, counts: Iterable[int], epoch: int, received_ms: int
    ) -> list[str]:
        """Of messages that consumers get for the first time, each the next so many of a run that
        begins at the offset, and up to RUN_MAX."""
        handles: list[str] = []
        for count in counts:
            sealed = self._sealed(_BODY.pack(partition, offset, count - 1, 1, epoch, received_ms))
            handles += [sealed + place for place in _PLACES[:count]]
            offset += count
        return handles

    def _sealed(self, body: bytes) -> str:
        sealer = self._new_sealer()
        sealer.update(body)
        return body.hex() + sealer.hexdigest()

    def decode(self, handle: str) -> Receipt:
        sealed, place = handle[:_SEALED_CHARS], _PLACE_OF.get(handle[_SEALED_CHARS:])
        if place is None:
            raise receipt_invalid()
        opened, fields = self._opened
        if sealed != opened:
            fields = self._open(sealed)
            self._opened = sealed, fields
        partition, first_offset, last_place, receive_count, epoch, received_ms = fields
        if place > last_place:
            raise receipt_invalid()
        return _new_tuple(
            Receipt, (partition, first_offset + place, receive_count, epoch, received_ms)
        )

    def _open(self, sealed: str) -> tuple[int, ...]:
        try:
            data = bytes.fromhex(sealed)
        except ValueError:
            raise receipt_invalid() from None
        sealer = self._new_sealer()
        sealer.update(data[: _BODY.size])
        # Forging one by timing is no threat: whoever can try may also receive the message.
        if len(data) != _SEALED_BYTES or data[_BODY.size :] != sealer.digest():
            raise receipt_invalid()
        return _BODY.unpack_from(data)


def receipt_invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
