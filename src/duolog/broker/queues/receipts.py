"""Receipt handles: each names one delivery of one message.

A handle names the partition, the offset, the leader epoch, the receive count and the time of the
delivery, so a stale one never settles a newer delivery: not even after a replay, which counts from
one again. It is sealed with the cluster's key and the queue's id, so that nobody can forge one for
a message that was not received, nor use it on a later queue of the same name.

Consecutive messages of one answer share a seal, since making and checking it is most of the work;
each handle adds its index. Whoever has one of these handles was given them all.
"""

import uuid
from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from duolog.model.queue_errors import ReceiptHandleIsInvalid
from duolog.wire.sqs.texts import Texts, numbered

RUN_MAX = 256
"""Maximum number of handles that share a seal."""

_BODY = Struct(">HQBIIQ")
_SEAL_BYTES = 8
_SEALED_BYTES = _BODY.size + _SEAL_BYTES
_SEALED_CHARS = 2 * _SEALED_BYTES
_PLACE_CHARS = 2
_PLACES = tuple(numbered([""], [0], [RUN_MAX], _PLACE_CHARS))
_NUMBERS = {place: number for number, place in enumerate(_PLACES)}


class Receipt(NamedTuple):
    partition: int
    offsets: range
    """Offsets of one message, or of several handed out together."""
    receive_count: int
    epoch: int
    received_ms: int


class Receipts:
    """Makes and reads the receipt handles of one queue."""

    __slots__ = ("_new_sealer", "_opened", "_sealed")

    def __init__(self, key: bytes, queue_id: uuid.UUID) -> None:
        self._new_sealer = blake2b(queue_id.bytes, key=key, digest_size=_SEAL_BYTES).copy
        self._sealed = ""
        self._opened: Receipt | None = None
        """Receipt of the last checked seal, a cache: the next handle often has the same seal."""

    def encode(
        self, partition: int, offset: int, receive_count: int, epoch: int, received_ms: int
    ) -> str:
        body = _BODY.pack(partition, offset, 0, receive_count, epoch, received_ms)
        return self._seal(body) + _PLACES[0]

    def encode_runs(
        self, partition: int, offset: int, counts: list[int], epoch: int, received_ms: int
    ) -> Texts:
        """Handles of consecutive messages, from `offset` on, delivered for the first time: each
        count is one consumer's number of messages, at most RUN_MAX, under one seal."""
        sealed = []
        for each in counts:
            body = _BODY.pack(partition, offset, each - 1, 1, epoch, received_ms)
            sealed.append(self._seal(body))
            offset += each
        return numbered(sealed, [0] * len(sealed), counts, _PLACE_CHARS)

    def _seal(self, body: bytes) -> str:
        sealer = self._new_sealer()
        sealer.update(body)
        return body.hex() + sealer.hexdigest()

    def decode(self, handle: str) -> Receipt:
        return self.decode_from((handle,), 0)

    def decode_from(self, handles: Sequence[str], first: int) -> Receipt:
        """Reads handles from index `first` on: all that share a seal if they are all there in
        order, else only the one."""
        sealed, place = handles[first][:_SEALED_CHARS], handles[first][_SEALED_CHARS:]
        receipt = self._opened
        if receipt is None or sealed != self._sealed:
            receipt = self._opened = self._open(sealed)
            self._sealed = sealed
        offsets = receipt.offsets
        number = _NUMBERS.get(place, RUN_MAX)
        if number >= len(offsets):
            raise receipt_invalid()
        if len(offsets) == 1:
            return receipt
        if number == 0:
            shared = [sealed + each for each in _PLACES[: len(offsets)]]
            if [*handles[first : first + len(shared)]] == shared:
                return receipt
        return Receipt(receipt.partition, offsets[number : number + 1], *receipt[2:])

    def _open(self, sealed: str) -> Receipt:
        try:
            data = bytes.fromhex(sealed)
        except ValueError:
            raise receipt_invalid() from None
        sealer = self._new_sealer()
        sealer.update(data[: _BODY.size])
        # No constant-time comparison: whoever can try to forge a seal may also receive the message.
        if len(data) != _SEALED_BYTES or data[_BODY.size :] != sealer.digest():
            raise receipt_invalid()
        partition, offset, last, receive_count, epoch, received_ms = _BODY.unpack_from(data)
        run = range(offset, offset + last + 1)
        return Receipt(partition, run, receive_count, epoch, received_ms)


def receipt_invalid() -> ReceiptHandleIsInvalid:
    return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")
