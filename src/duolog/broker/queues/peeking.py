"""Peeks at the messages of a queue, without receiving them."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.core.queues.message import Message, from_record
from duolog.model.queue_errors import InvalidParameterValue

STATES = ("ready", "in_flight", "delayed", "dead", "done")
UNDONE = "undone"
"""Asks for messages in any state but `done`."""
EXAMINED_MAX = 10_000
"""Maximum number of messages that one request examines, in any state."""
PEEKED_BYTES_MAX = 4 << 20
"""Maximum bytes of bodies and attributes per page; the message that exceeds it is the last."""


class Peeked(NamedTuple):
    message_id: str
    partition: int
    offset: int
    state: str
    receive_count: int
    visible_ms: int | None
    """Time at which a message in flight becomes visible; None unless in flight."""
    message: Message

    @property
    def size(self) -> int:
        values = self.message.attributes.values()
        return len(self.message.body) + sum(len(attribute.value) for attribute in values)


class Page(NamedTuple):
    messages: list[Peeked]
    next_offset: int | None
    """Offset of the next page; None at the partition's end."""


def find(partition: QueuePartition, message_id: str, now_ms: int) -> Peeked | None:
    """Finds a message by id: by the offset in it, or, as moved messages keep their original id,
    by a search through up to EXAMINED_MAX undone messages."""
    offset = partition.ids.offset_of(message_id)
    offsets = [] if offset is None else [offset]
    for offset in chain(offsets, partition.delivery.undone(0, EXAMINED_MAX)):
        peeked = _peek(partition, offset, now_ms)
        if peeked is not None and peeked.message_id == message_id:
            return peeked
    return None


def look(queue: Queue, *, partition: int, from_offset: int, limit: int, state: str | None) -> Page:
    """Lists messages of a partition from the offset on: in any state, in one, or all but done."""
    if state is not None and state not in (*STATES, UNDONE):
        raise InvalidParameterValue(f"The state must be one of {', '.join(STATES)} or {UNDONE}.")
    place = queue.partition(partition) if partition >= 0 else None
    if place is None and queue.state.has_all_partitions:
        raise InvalidParameterValue(
            f"The last partition of the queue is {len(queue.partitions) - 1}."
        )
    if place is None:
        raise not_led()
    now_ms = queue.state.clock.now_ms()
    found: list[Peeked] = []
    examined = size = 0
    for offset in _offsets(place, from_offset, state):
        if len(found) == limit or examined == EXAMINED_MAX or size >= PEEKED_BYTES_MAX:
            return Page(found, offset)
        examined += 1
        if state in STATES and place.delivery.state_of(offset, now_ms) != state:
            continue
        peeked = _peek(place, offset, now_ms)
        if peeked is not None:
            found.append(peeked)
            size += peeked.size
    return Page(found, None)


def _offsets(partition: QueuePartition, from_offset: int, state: str | None) -> Iterator[int]:
    delivery = partition.delivery
    from_offset = max(from_offset, partition.data.log.start_offset)
    if state is None or state == "done":
        yield from range(from_offset, delivery.end_offset)
        return
    while chunk := delivery.undone(from_offset, 1_000):
        yield from chunk
        from_offset = chunk[-1] + 1


def _peek(partition: QueuePartition, offset: int, now_ms: int) -> Peeked | None:
    record = partition.reader.look(offset)
    if record is None:
        return None
    message = from_record(record)
    held = partition.delivery.held(offset)
    return Peeked(
        message.origin or partition.ids.of(offset),
        partition.data.index,
        offset,
        partition.delivery.state_of(offset, now_ms),
        0 if held is None else held.receive_count,
        held.deadline_ms if held is not None and held.is_in_flight else None,
        message,
    )
