"""Builds received messages with ids and receipt handles, within an answer's size limit."""

from collections.abc import Iterable, Sequence
from itertools import repeat

from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.message_reader import PlainRun
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState
from duolog.broker.queues.receipts import RUN_MAX
from duolog.broker.queues.receiving import Receive, Received, ReceivedRun
from duolog.core.queues.message import Message, from_record, plain_message
from duolog.core.queues.ranges import as_run
from duolog.records.builder import encoded_size
from duolog.records.record import Record
from duolog.wire.sqs.digests import md5_of_bodies


def received(
    queue: QueueState,
    partition: QueuePartition,
    records: Sequence[Record] | PlainRun,
    counts: list[int],
    now_ms: int,
    *,
    are_new: bool = False,
) -> Sequence[Received]:
    """Builds the messages just handed out; consumer i gets the next `counts[i]` of them.

    `are_new`: True if it is known that none of them was delivered before.
    """
    offsets: Sequence[int]
    if isinstance(records, PlainRun):
        offsets = records.offsets
    else:
        offsets = [record[4] or 0 for record in records]
    run = as_run(offsets) if max(counts) <= RUN_MAX else None
    received_ms = now_ms if are_new else None
    if run is not None and not are_new:
        received_ms = partition.delivery.first_received_ms(run)
    if run is None or received_ms is None:
        return _received_each(queue, partition, offsets, records, now_ms)
    return _received_run(queue, partition, run, records, counts, received_ms)


def _received_run(
    queue: QueueState,
    partition: QueuePartition,
    run: range,
    records: Sequence[Record] | PlainRun,
    counts: list[int],
    received_ms: int,
) -> Sequence[Received]:
    """Builds consecutive messages delivered for the first time, as most are: all at once, with
    one seal for each consumer."""
    data = partition.data
    ids = partition.ids.of_run(run)
    handles = queue.receipts.encode_runs(
        data.index, run.start, counts, data.leader_epoch, received_ms
    )
    is_fifo = queue.config.fifo
    if isinstance(records, PlainRun) and not is_fifo and _is_own(records, partition):
        bodies = records.values
        digests = md5_of_bodies(bodies)
        return ReceivedRun(ids, handles, digests, bodies, records.timestamps, received_ms)
    messages = _messages(partition, records)
    numbers: Iterable[str | None] = repeat(None)
    if is_fifo:
        numbers = [sequence_number(data.index, offset) for offset in run]
    return list(
        map(
            Received,
            [message.origin or own for message, own in zip(messages, ids, strict=True)],
            handles,
            messages,
            md5_of_bodies([message.body.encode() for message in messages]),
            repeat(1),
            repeat(received_ms),
            numbers,
        )
    )


def _is_own(run: PlainRun, partition: QueuePartition) -> bool:
    """True if all were sent through SQS, which has checked their characters."""
    return run.first_offset >= partition.own_offset and all(run.values)


def _messages(partition: QueuePartition, records: Sequence[Record] | PlainRun) -> list[Message]:
    if not isinstance(records, PlainRun):
        return list(map(from_record, records))
    if _is_own(records, partition):
        return list(map(plain_message, records.values, records.timestamps))
    return list(map(from_record, records.records()))


def _received_each(
    queue: QueueState,
    partition: QueuePartition,
    offsets: Sequence[int],
    records: Sequence[Record] | PlainRun,
    now_ms: int,
) -> list[Received]:
    data = partition.data
    index, epoch, is_fifo = data.index, data.leader_epoch, queue.config.fifo
    messages = _messages(partition, records)
    digests = md5_of_bodies([message.body.encode() for message in messages])
    found = []
    for offset, message, digest in zip(offsets, messages, digests, strict=True):
        held = partition.delivery.held(offset)
        if held is None:
            # Delivered at most once: the message is deleted already, not held.
            count, received_ms, first_received_ms = 1, now_ms, now_ms
        else:
            count, received_ms = held.receive_count, held.received_ms
            first_received_ms = held.first_received_ms
        found.append(
            Received(
                message.origin or partition.ids.of(offset),
                queue.receipts.encode(index, offset, count, epoch, received_ms),
                message,
                digest,
                count,
                first_received_ms,
                sequence_number(index, offset) if is_fifo else None,
            )
        )
    return found


def within_bytes(
    receive: Receive, bytes_left: int, offsets: Sequence[int], records: list[Record]
) -> tuple[Sequence[int], list[Record]]:
    """Cuts the messages to the answer's remaining bytes; its first message always fits."""
    room = len(records)
    for place, record in enumerate(records):
        bytes_left -= encoded_size(record)
        if bytes_left < 0 and (place or receive.found):
            room = place
            break
    receive.bytes_left = bytes_left
    return offsets[:room], records[:room]
