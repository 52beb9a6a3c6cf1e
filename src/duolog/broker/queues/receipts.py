"""Receipt handles: which delivery of which message a consumer speaks of.

A handle names the queue's creation, the partition, the offset, the leader's epoch, how often
the message had been delivered and when, so a stale one never settles a newer delivery: not
even one after a replay, which counts from the beginning again. It is sealed with the cluster's
own key: nobody can make one for a message that was not received.
"""

import uuid
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid

_BODY = Struct(">HQIIQ")
_SEAL_BYTES = 8
_new_tuple = tuple.__new__
_HANDLE_BYTES = _BODY.size + _SEAL_BYTES


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

    def encode(
        self, partition: int, offset: int, receive_count: int, epoch: int, received_ms: int
    ) -> str:
        body = _BODY.pack(partition, offset, receive_count, epoch, received_ms)
        sealer = self._new_sealer()
        sealer.update(body)
        return body.hex() + sealer.hexdigest()

    def decode(self, handle: str) -> Receipt:
        if len(handle) != 2 * _HANDLE_BYTES:
            raise receipt_invalid()
        try:
            data = bytes.fromhex(handle)
        except ValueError:
            raise receipt_invalid() from None
        sealer = self._new_sealer()
        sealer.update(data[: _BODY.size])
        # Forging one by timing is no threat: whoever can try may also receive the message.
        if len(data) != _HANDLE_BYTES or data[_BODY.size :] != sealer.digest():
            raise receipt_invalid()
        return _new_tuple(Receipt, _BODY.unpack_from(data))


def receipt_invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
