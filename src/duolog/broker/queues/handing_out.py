"""Messages as consumers get them: which of them an answer has room for, and what it says."""

from collections.abc import Iterable

from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState
from duolog.broker.queues.receiving import Receive, Received
from duolog.core.queues.message import from_plain, from_record
from duolog.records.builder import encoded_size
from duolog.records.record import Record


def received(
    queue: QueueState, partition: QueuePartition, records: Iterable[Record], now_ms: int
) -> list[Received]:
    """Of messages that were just handed out."""
    data = partition.data
    index, epoch, own_offset = data.index, data.leader_epoch, partition.own_offset
    held_of, id_of = partition.delivery.held, partition.ids.of
    handle_of = queue.receipts.encode
    is_fifo = queue.config.fifo
    found = []
    for record in records:
        key, value, headers, sent_ms, offset = record
        assert offset is not None
        held = held_of(offset)
        if held is None:
            # What is delivered at most once is not held: it is gone already.
            count, received_ms, first_received_ms = 1, now_ms, now_ms
        else:
            count, received_ms = held.receive_count, held.received_ms
            first_received_ms = held.first_received_ms
        if offset >= own_offset and key is None and value and not headers:
            message = from_plain(value, sent_ms)
        else:
            message = from_record(record)
        found.append(
            Received(
                message.origin or id_of(offset),
                handle_of(index, offset, count, epoch, received_ms),
                message,
                count,
                first_received_ms,
                sequence_number(index, offset) if is_fifo else None,
            )
        )
    return found


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
