"""State shared by the parts of a queue: its entry, partitions, clock and owner."""

from collections.abc import Callable
from typing import Protocol

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.journal import refused
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.config.queue import QueueConfig
from duolog.model.errors import Refusal
from duolog.model.queue_errors import QueueDoesNotExist
from duolog.model.usage import Operation


class QueueOwner(Protocol):
    """Services that a queue needs from the node."""

    def open_journals(self, queue: "QueueState", opened: Callable[[Refusal | None], None]) -> None:
        """Creates the journals, then calls back."""
        ...

    def rearm(self, partition: QueuePartition) -> None:
        """Updates the partition's timer: its next deadline may be earlier now."""
        ...

    def count_messages(self, queue: str, operation: Operation, messages: int) -> None:
        """Meters messages that the broker itself has expired or moved."""
        ...


class QueueState:
    __slots__ = (
        "_entry",
        "clock",
        "config",
        "has_all_partitions",
        "has_journals",
        "is_gone",
        "is_only_node",
        "open_partition_count",
        "open_partitions",
        "owner",
        "partitions",
        "receipts",
        "topic_revision",
        "turn",
    )

    def __init__(
        self,
        entry: QueueEntry,
        receipts: Receipts,
        clock: SteadyClock,
        turn: Turn,
        owner: QueueOwner,
    ) -> None:
        self.entry = entry
        self.partitions: list[QueuePartition] = []
        self.receipts = receipts
        self.clock = clock
        self.turn = turn
        self.owner = owner
        self.has_journals = False
        self.is_only_node = False
        """True if this is the only node, so that no other can know of more partitions."""
        self.is_gone = False
        self.has_all_partitions = False
        """True if all partitions of the queue are served here; then each is at its index."""
        self.open_partitions: list[QueuePartition] = []
        """Partitions served here that take messages sent to the queue."""
        self.open_partition_count = 1
        """Number of the queue's partitions that take messages, on all nodes."""
        self.topic_revision = 0
        """Revision of the topic from which the open partitions were taken."""

    def partition(self, index: int) -> QueuePartition | None:
        """The partition of this index; None if it is not served here."""
        if self.has_all_partitions:
            return self.partitions[index] if index < len(self.partitions) else None
        for each in self.partitions:
            if each.data.index == index:
                return each
        return None

    @property
    def entry(self) -> QueueEntry:
        return self._entry

    @entry.setter
    def entry(self, entry: QueueEntry) -> None:
        self._entry = entry
        self.config: QueueConfig = entry.config
        """The entry's configuration, kept here because every request reads it several times."""

    @property
    def is_writable(self) -> bool:
        """True if changes can be written: all journals are there, and none has just failed."""
        if not self.has_journals:
            return False
        for partition in self.partitions:
            journal = partition.journal
            if journal is None or journal.retry_ms:
                return False
        return True

    def journaled(self, work: Callable[[], None], refuse: Callable[[Refusal], None]) -> None:
        """Does the work once changes can be written, creating the journals if necessary."""
        if self.is_gone:
            refuse(gone())
        elif self.is_writable:
            work()
        elif self.has_journals:
            refuse(refused())
        else:

            def opened(failure: Refusal | None) -> None:
                # The queue may have been deleted meanwhile.
                if failure is None and self.is_gone:
                    failure = gone()
                if failure is None:
                    work()
                else:
                    refuse(failure)

            self.owner.open_journals(self, opened)


def gone() -> QueueDoesNotExist:
    return QueueDoesNotExist("The specified queue does not exist.")
