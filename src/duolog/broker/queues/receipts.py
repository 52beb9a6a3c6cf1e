"""Receipt handles: which delivery of which message a consumer speaks of.

A handle names the queue's creation, the partition, the offset, the leader's epoch, how often
the message had been delivered and when, so a stale one never settles a newer delivery: not
even one after a replay, which counts from the beginning again. It is sealed with the cluster's
own key: nobody can make one for a message that was not received.
"""

import binascii
import uuid
from binascii import a2b_base64, b2a_base64
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid

_BODY = Struct(">HQIIQ")
_SEAL_BYTES = 8
_new_tuple = tuple.__new__
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
_HANDLE_CHARS = (_BODY.size + _SEAL_BYTES + 2) // 3 * 4


class Receipt(NamedTuple):
    partition: int
    offset: int
    receive_count: int
    epoch: int
    received_ms: int


class Receipts:
    """The receipts of one queue."""

    def __init__(self, key: bytes, queue_id: uuid.UUID) -> None:
        self._sealer = blake2b(queue_id.bytes, key=key, digest_size=_SEAL_BYTES)

    def encode(
        self, partition: int, offset: int, receive_count: int, epoch: int, received_ms: int
    ) -> str:
        body = _BODY.pack(partition, offset, receive_count, epoch, received_ms)
        return b2a_base64(body + self._seal(body), newline=False).translate(_TO_URL).decode()

    def decode(self, handle: str) -> Receipt:
        if len(handle) != _HANDLE_CHARS:
            raise receipt_invalid()
        try:
            data = a2b_base64(handle.encode("ascii").translate(_FROM_URL))
        except (binascii.Error, ValueError):
            raise receipt_invalid() from None
        body = data[: _BODY.size]
        # Forging one by timing is no threat: whoever can try may also receive the message.
        if len(data) != _BODY.size + _SEAL_BYTES or data[_BODY.size :] != self._seal(body):
            raise receipt_invalid()
        return _new_tuple(Receipt, _BODY.unpack(body))

    def _seal(self, body: bytes) -> bytes:
        sealer = self._sealer.copy()
        sealer.update(body)
        return sealer.digest()


def receipt_invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
