"""Messages as consumers get them: which of them an answer has room for, and what it says."""

from collections.abc import Iterable, Sequence
from itertools import repeat

from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState
from duolog.broker.queues.receipts import RUN_MAX
from duolog.broker.queues.receiving import Receive, Received
from duolog.core.queues.held import Held
from duolog.core.queues.message import Message, from_plain, from_record
from duolog.records.builder import encoded_size
from duolog.records.record import Record


def received(
    queue: QueueState, partition: QueuePartition, records: Sequence[Record], now_ms: int
) -> list[Received]:
    """Of messages that one consumer was just given."""
    found = _received_run(queue, partition, records) if len(records) > 1 else None
    if found is not None:
        return found
    data = partition.data
    index, epoch, own_offset = data.index, data.leader_epoch, partition.own_offset
    is_fifo = queue.config.fifo
    found = []
    for record in records:
        offset = record[4]
        assert offset is not None
        held = partition.delivery.held(offset)
        if held is None:
            # What is delivered at most once is not held: it is gone already.
            count, received_ms, first_received_ms = 1, now_ms, now_ms
        else:
            count, received_ms = held.receive_count, held.received_ms
            first_received_ms = held.first_received_ms
        message = _message(record, own_offset)
        found.append(
            Received(
                message.origin or partition.ids.of(offset),
                queue.receipts.encode(index, offset, count, epoch, received_ms),
                message,
                count,
                first_received_ms,
                sequence_number(index, offset) if is_fifo else None,
            )
        )
    return found


def _received_run(
    queue: QueueState, partition: QueuePartition, records: Sequence[Record]
) -> list[Received] | None:
    """Of messages that nobody had before and that lie one behind the other, as most do: all at
    once, with one seal. None if these are others."""
    offsets = [record[4] for record in records]
    first = offsets[0]
    assert first is not None
    run = range(first, first + len(offsets))
    if offsets != list(run) or len(run) > RUN_MAX:
        return None
    deliveries = set(map(_delivery, map(partition.delivery.held, run)))
    received_ms = deliveries.pop()
    if received_ms is None or deliveries:
        return None
    data = partition.data
    messages = [_message(record, partition.own_offset) for record in records]
    ids = partition.ids.of_run(run)
    numbers: Iterable[str | None] = repeat(None)
    if queue.config.fifo:
        numbers = [sequence_number(data.index, offset) for offset in run]
    return list(
        map(
            Received,
            [message.origin or own for message, own in zip(messages, ids, strict=True)],
            queue.receipts.encode_run(data.index, run, 1, data.leader_epoch, received_ms),
            messages,
            repeat(1),
            repeat(received_ms),
            numbers,
        )
    )


def _delivery(held: Held | None) -> int | None:
    """When it was received; None if that was not for the first time."""
    return held.received_ms if held is not None and held.receive_count == 1 else None


def _message(record: Record, own_offset: int) -> Message:
    key, value, headers, sent_ms, offset = record
    if key is None and value and not headers and (offset or 0) >= own_offset:
        return from_plain(value, sent_ms)
    return from_record(record)


def within_bytes(
    receive: Receive, bytes_left: int, offsets: list[int], records: list[Record]
) -> tuple[list[int], list[Record]]:
    """Those of the messages that the answer has room for; the first of all it always has."""
    room = len(records)
    for place, record in enumerate(records):
        bytes_left -= encoded_size(record)
        if bytes_left < 0 and (place or receive.found):
            room = place
            break
    receive.bytes_left = bytes_left
    return offsets[:room], records[:room]
