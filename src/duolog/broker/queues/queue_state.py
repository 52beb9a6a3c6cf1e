"""What the parts of a queue share."""

from collections.abc import Callable
from typing import Protocol

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.config.queue import QueueConfig
from duolog.model.errors import Refusal, StorageFailed
from duolog.model.queue_errors import QueueDoesNotExist
from duolog.model.usage import Operation


class QueueOwner(Protocol):
    """What a queue needs done around it."""

    def open_journals(self, queue: "QueueState", opened: Callable[[Refusal | None], None]) -> None:
        """Make the companion topic, then call."""
        ...

    def rearm(self, partition: QueuePartition) -> None:
        """The partition's next deadline may be earlier than it was."""
        ...

    def count_messages(self, queue: str, operation: Operation, messages: int) -> None:
        """The broker itself has done this to so many messages of the queue."""
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
        """Whether this is the only node, so that no other can know of more partitions."""
        self.is_gone = False
        self.has_all_partitions = False
        """Whether every partition of the queue is served here. Then each is in the list at its
        index."""
        self.open_partitions: list[QueuePartition] = []
        """Those of them that new messages go to."""
        self.open_partition_count = 1
        """How many partitions of the queue take messages, wherever they are led."""
        self.topic_revision = 0
        """The revision of the topic that says so."""

    def partition(self, index: int) -> QueuePartition | None:
        """The one of this index, if it is served here."""
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
        """Beside the entry, because every request asks for it several times."""

    @property
    def is_writable(self) -> bool:
        """Whether what is decided now can be written down."""
        if not self.has_journals:
            return False
        for partition in self.partitions:
            journal = partition.journal
            # Nearly always it is zero, and nobody has to ask for the time.
            if journal is None or (journal.retry_ms and journal.retry_ms > self.clock.now_ms()):
                return False
        return True

    def journaled(self, work: Callable[[], None], refuse: Callable[[Refusal], None]) -> None:
        """Do the work once changes can be written down."""
        if self.is_gone:
            refuse(gone())
        elif self.is_writable:
            work()
        elif self.has_journals:
            refuse(StorageFailed("the queue could not be written a moment ago"))
        else:

            def opened(failure: Refusal | None) -> None:
                # It may have been deleted meanwhile.
                if failure is None and self.is_gone:
                    failure = gone()
                if failure is None:
                    work()
                else:
                    refuse(failure)

            self.owner.open_journals(self, opened)


def gone() -> QueueDoesNotExist:
    return QueueDoesNotExist("The specified queue does not exist.")
