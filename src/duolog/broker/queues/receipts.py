"""Receipt handles: which delivery of which message a consumer speaks of.

A handle names the queue's creation, the partition, the offset, the leader's epoch, how often
the message had been delivered and when, so a stale one never settles a newer delivery: not
even one after a replay, which counts from the beginning again. It is sealed with the cluster's
own key: nobody can make one for a message that was not received.
"""

import binascii
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid

_BODY = Struct(">HQIIQ")
_SEAL_BYTES = 8
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
        return urlsafe_b64encode(body + self._seal(body)).decode()

    def decode(self, handle: str) -> Receipt:
        if len(handle) != _HANDLE_CHARS:
            raise _invalid()
        try:
            data = urlsafe_b64decode(handle)
        except (binascii.Error, ValueError):
            raise _invalid() from None
        body = data[: _BODY.size]
        # Forging one by timing is no threat: whoever can try may also receive the message.
        if len(data) != _BODY.size + _SEAL_BYTES or data[_BODY.size :] != self._seal(body):
            raise _invalid()
        return Receipt(*_BODY.unpack(body))

    def _seal(self, body: bytes) -> bytes:
        sealer = self._sealer.copy()
        sealer.update(body)
        return sealer.digest()


def _invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
