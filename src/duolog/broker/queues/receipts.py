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
from itertools import count
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid

RUN_MAX = 256
"""How many handles share a seal."""

_BODY = Struct(">HQBIIQ")
_SEAL_BYTES = 8
_SEALED_BYTES = _BODY.size + _SEAL_BYTES
_SEALED_CHARS = 2 * _SEALED_BYTES
_PLACES = tuple(f"{place:02x}" for place in range(RUN_MAX))


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
        self._opened: dict[str, Receipt] = {}
        """By handle, all that share the seal which was checked last: often the next is of them."""

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
        for each in counts:
            sealed = self._sealed(_BODY.pack(partition, offset, each - 1, 1, epoch, received_ms))
            handles += [sealed + place for place in _PLACES[:each]]
            offset += each
        return handles

    def _sealed(self, body: bytes) -> str:
        sealer = self._new_sealer()
        sealer.update(body)
        return body.hex() + sealer.hexdigest()

    def decode(self, handle: str) -> Receipt:
        receipt = self._opened.get(handle)
        if receipt is None:
            self._open(handle[:_SEALED_CHARS])
            receipt = self._opened.get(handle)
            if receipt is None:
                raise receipt_invalid()
        return receipt

    def _open(self, sealed: str) -> None:
        try:
            data = bytes.fromhex(sealed)
        except ValueError:
            raise receipt_invalid() from None
        sealer = self._new_sealer()
        sealer.update(data[: _BODY.size])
        # Forging one by timing is no threat: whoever can try may also receive the message.
        if len(data) != _SEALED_BYTES or data[_BODY.size :] != sealer.digest():
            raise receipt_invalid()
        partition, first_offset, last_place, *delivery = _BODY.unpack_from(data)
        self._opened = {
            sealed + place: Receipt(partition, offset, *delivery)
            for place, offset in zip(_PLACES[: last_place + 1], count(first_offset), strict=False)
        }


def receipt_invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
