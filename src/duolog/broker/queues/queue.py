"""A queue, as far as this node serves it: sending, receiving and settling messages.

Requests are answered by callbacks, immediately if there is nothing to wait for: a task per
request would cost more than the request.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.commits import Settled
from duolog.broker.queues.consuming import Consuming
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueOwner, QueueState
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.sending import Sending
from duolog.broker.queues.settling import Settling
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.config.queue import QueueConfig
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.records.record import Record


class Counts(NamedTuple):
    ready: int
    in_flight: int
    delayed: int


class Queue:
    __slots__ = (
        "_consuming",
        "_sending",
        "_settling",
        "_watchers",
        "delete",
        "on_ready",
        "receive",
        "receive_each",
        "send",
        "send_plain",
        "state",
    )

    def __init__(
        self,
        entry: QueueEntry,
        receipts: Receipts,
        clock: SteadyClock,
        turn: Turn,
        owner: QueueOwner,
    ) -> None:
        self.state = QueueState(entry, receipts, clock, turn, owner)
        self._sending = Sending(self.state)
        self._consuming = Consuming(self.state)
        self._settling = Settling(self.state, self.look_at_time)
        # Bound methods of the parts, which saves a call per request on the hot path.
        self.send = self._sending.send
        self.send_plain = self._sending.send_plain
        self.receive = self._consuming.receive
        self.receive_each = self._consuming.receive_each
        self.delete = self._settling.delete
        self.on_ready: Callable[[], None] | None = None
        """Called after parked receives were served, when more messages may be ready."""
        self._watchers: dict[Callable[[], None], None] = {}

    @property
    def entry(self) -> QueueEntry:
        return self.state.entry

    @property
    def config(self) -> QueueConfig:
        return self.state.config

    @property
    def topic_name(self) -> str:
        """The topic whose records are the messages."""
        return self.config.source_topic or self.entry.name

    @property
    def partitions(self) -> list[QueuePartition]:
        return self.state.partitions

    @property
    def is_undivided(self) -> bool:
        """True if one partition holds all messages, so that requests can be served together."""
        return len(self.state.partitions) == 1

    def counts(self) -> Counts:
        machines = [partition.delivery for partition in self.partitions]
        return Counts(
            sum(each.ready_count for each in machines),
            sum(each.in_flight_count for each in machines),
            sum(each.delayed_count for each in machines),
        )

    def oldest_sent_ms(self) -> int | None:
        """Approximate send time of the oldest undone message; None if there is none."""
        times = (partition.delivery.oldest_sent_ms() for partition in self.partitions)
        return min((each for each in times if each is not None), default=None)

    @property
    def parked(self) -> int:
        return self._consuming.parked

    def accept(self, records: Sequence[Record], done: Settled) -> None:
        """Appends messages moved from another queue; a FIFO queue drops duplicates."""
        self._sending.accept(records, done)

    def change_visibility(
        self,
        changes: Sequence[tuple[str, int]],
        done: Callable[[list[Refusal | None] | Refusal], None],
    ) -> None:
        """Changes visibility time-outs, in ms from now; zero makes a message visible at once."""
        self._settling.change_visibility(changes, done)

    def knows(self, message: Outgoing, partition: QueuePartition) -> bool:
        """True if a FIFO queue's partition has messages of this group, or had this message."""
        return self._sending.knows(message, partition)

    def knows_record(self, record: Record, partition: QueuePartition) -> bool:
        """Does the same as `knows`, for a message moved from another queue."""
        return self._sending.knows_record(record, partition)

    def knows_attempt(self, attempt: str) -> bool:
        """True if a receive with this attempt id was answered here."""
        now_ms, name = self.state.clock.now_ms(), attempt.encode()
        machines = [partition.delivery for partition in self.partitions]
        return any(each.find_attempt(name, now_ms) is not None for each in machines)

    def watch(self, watcher: Callable[[], None]) -> None:
        """Calls the watcher once something can be received, perhaps at once."""
        self._watchers[watcher] = None
        self._tell_watchers()

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.pop(watcher, None)

    def _tell_watchers(self) -> None:
        """Calls all watchers: each tries to receive, and watches again if it finds nothing."""
        now_ms = self.state.clock.now_ms()
        if any(each.delivery.choose(1, now_ms) for each in self.partitions):
            watchers, self._watchers = self._watchers, {}
            for watcher in watchers:
                watcher()

    def serve_parked(self) -> None:
        """Serves parked receives and watchers, after messages may have become ready."""
        if self._consuming.parked:
            self._consuming.serve_parked()
        if self._watchers:
            self._tell_watchers()
        if self.on_ready is not None:
            self.on_ready()

    def look_at_time(self, partition: QueuePartition, now_ms: int) -> None:
        """Makes due messages ready, serves those who wait, and rearms the timer."""
        partition.delivery.tick(now_ms)
        if partition.delivery.ready_count:
            self.serve_parked()
        self.state.owner.rearm(partition)

    def became_ready(self, partition: QueuePartition) -> None:
        """Serves those who wait, after messages were added."""
        self.serve_parked()
        self.state.owner.rearm(partition)

    def partition(self, index: int) -> QueuePartition | None:
        """The partition of this index; None if it is not served here."""
        return self.state.partition(index)

    def add(self, partition: QueuePartition) -> None:
        """Begins to serve a partition."""
        self.state.partitions.append(partition)
        self.state.partitions.sort(key=lambda each: each.data.index)
        partition.data.add_reader(partition)

    def remove(self, partition: QueuePartition) -> None:
        """Stops serving a partition that another node leads; long polls wait on at the rest."""
        partition.is_gone = partition.refuses_changes = True
        partition.data.remove_reader(partition)
        self.state.has_all_partitions = False
        self.state.partitions.remove(partition)
        if not self.state.partitions:
            self._consuming.end_parked()

    def close(self) -> None:
        """Closes a deleted queue, and refuses its parked receives."""
        self.state.is_gone = True
        for partition in self.partitions:
            partition.is_gone = partition.refuses_changes = True
            partition.data.remove_reader(partition)
        self._consuming.refuse_parked()
