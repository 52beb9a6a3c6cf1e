"""What a queue holds, seen without touching it: no time passes, and no message is read ahead."""

from typing import NamedTuple

from tests.unit.broker.queues.model.reference import Place

from duolog.broker.queues.queue import Queue
from duolog.core.queues.message import from_record
from duolog.records.record import Record

MESSAGES_MAX = 10_000


class Observed(NamedTuple):
    receive_count: int
    hidden_until_ms: int | None
    """None when it is not in flight."""
    first_received_ms: int
    is_dead: bool


NEVER_RECEIVED = Observed(0, None, 0, False)


def observe(queue: Queue) -> dict[Place, Observed]:
    """Every message that is not done."""
    seen: dict[Place, Observed] = {}
    for partition in queue.partitions:
        for offset in partition.delivery.undone(0, MESSAGES_MAX):
            held = partition.delivery.held(offset)
            seen[partition.data.index, offset] = (
                NEVER_RECEIVED
                if held is None
                else Observed(
                    held.receive_count,
                    held.deadline_ms if held.is_in_flight else None,
                    held.first_received_ms,
                    held.is_dead,
                )
            )
    return seen


def record_at(queue: Queue, place: Place) -> Record:
    partition, offset = place
    (record,) = queue.partitions[partition].records(offset, offset + 1)
    return record


def id_at(queue: Queue, place: Place) -> str:
    partition, offset = place
    origin = from_record(record_at(queue, place)).origin
    return origin or queue.partitions[partition].ids.of(offset)
