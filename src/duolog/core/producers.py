"""Recognises batches of idempotent producers: in order, duplicate, or out of order.

Pure. Owned by broker/replica.py, which rebuilds the table from the log's batch headers, so that the
verdict does not depend on what was in memory. broker/partition.py checks each batch before it
stages it.
"""

from collections import deque

import msgspec

from duolog.model.errors import InvalidProducerEpoch, OutOfOrderSequence
from duolog.model.limits import PRODUCER_BATCHES_REMEMBERED, PRODUCERS_PER_PARTITION_MAX
from duolog.records.header import BatchHeader

_SEQUENCE_MASK = 0x7FFF_FFFF


class Producer:
    """State that a partition keeps of one producer id."""

    __slots__ = ("batches", "epoch", "next_sequence", "used_ms")

    def __init__(self, epoch: int, next_sequence: int, used_ms: int) -> None:
        self.epoch = epoch
        self.next_sequence = next_sequence
        self.used_ms = used_ms
        """Arrival time of the last batch, by the broker's clock: a batch's own time is the
        producer's choice."""
        self.batches: deque[tuple[int, int, int]] = deque(maxlen=PRODUCER_BATCHES_REMEMBERED)
        """(base sequence, last offset delta, base offset) of the newest batches."""


class _Row(msgspec.Struct, array_like=True):
    producer_id: int
    epoch: int
    next_sequence: int
    used_ms: int
    batches: list[tuple[int, int, int]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Row]).decode


class ProducerTable:
    """All idempotent producers of one partition."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def get(self, producer_id: int) -> Producer | None:
        return self._producers.get(producer_id)

    def find_duplicate(self, header: BatchHeader) -> int | None:
        """Base offset under which this batch is stored already; None if it is new.

        Raises OutOfOrderSequence or InvalidProducerEpoch if it must not be appended. An unknown
        producer may start at any sequence: retention may have removed its history.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        sequence = header.base_sequence
        if header.producer_epoch == producer.epoch:
            if sequence == producer.next_sequence:
                return None
            for base_sequence, last_offset_delta, base_offset in producer.batches:
                if base_sequence == sequence and last_offset_delta == header.last_offset_delta:
                    return base_offset
        elif header.producer_epoch < producer.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} has epoch {producer.epoch}, "
                f"this batch {header.producer_epoch}"
            )
        elif sequence == 0:
            return None
        raise OutOfOrderSequence(
            f"producer {header.producer_id} sent sequence {sequence}, "
            f"expected {producer.next_sequence}"
        )

    def replay(self, header: BatchHeader, base_offset: int, now_ms: int) -> None:
        """Records a batch that the log holds at `base_offset`."""
        producer_id = header.producer_id
        if producer_id < 0:
            return
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            if producer is None and len(self._producers) >= PRODUCERS_PER_PARTITION_MAX:
                self._forget_oldest()
            producer = Producer(header.producer_epoch, 0, now_ms)
            self._producers[producer_id] = producer
        sequence = header.base_sequence
        last_offset_delta = header.last_offset_delta
        producer.batches.append((sequence, last_offset_delta, base_offset))
        producer.next_sequence = (sequence + last_offset_delta + 1) & _SEQUENCE_MASK
        producer.used_ms = now_ms

    def expire(self, before_ms: int) -> None:
        """Forgets producers that wrote nothing since `before_ms`."""
        stale = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.used_ms < before_ms
        ]
        for producer_id in stale:
            del self._producers[producer_id]

    def _forget_oldest(self) -> None:
        """Makes room by forgetting a tenth at once, so that the sort is rarely needed."""
        oldest = sorted(self._producers, key=lambda each: self._producers[each].used_ms)
        for producer_id in oldest[: PRODUCERS_PER_PARTITION_MAX // 10]:
            del self._producers[producer_id]

    def snapshot(self) -> bytes:
        return _encode(
            [
                _Row(
                    producer_id,
                    producer.epoch,
                    producer.next_sequence,
                    producer.used_ms,
                    list(producer.batches),
                )
                for producer_id, producer in self._producers.items()
            ]
        )

    @classmethod
    def from_snapshot(cls, data: bytes) -> "ProducerTable":
        """Restores a table; raises msgspec.DecodeError on bytes that no snapshot() returned."""
        table = cls()
        for row in _decode(data):
            producer = Producer(row.epoch, row.next_sequence, row.used_ms)
            producer.batches.extend(row.batches)
            table._producers[row.producer_id] = producer
        return table
