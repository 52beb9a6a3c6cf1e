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


class QueueOwner(Protocol):
    """What a queue needs done around it."""

    def open_journals(self, queue: "QueueState", opened: Callable[[Refusal | None], None]) -> None:
        """Make the companion topic, then call."""
        ...

    def rearm(self, partition: QueuePartition) -> None:
        """The partition's next deadline may be earlier than it was."""
        ...


class QueueState:
    __slots__ = (
        "clock",
        "entry",
        "has_journals",
        "is_gone",
        "owner",
        "partitions",
        "receipts",
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
        self.is_gone = False

    @property
    def config(self) -> QueueConfig:
        return self.entry.config

    @property
    def is_writable(self) -> bool:
        """Whether what is decided now can be written down."""
        if not self.has_journals:
            return False
        now_ms = self.clock.now_ms()
        return all(
            each.journal is not None and each.journal.retry_ms <= now_ms for each in self.partitions
        )

    def journaled(self, work: Callable[[], None], refuse: Callable[[Refusal], None]) -> None:
        """Do the work once changes can be written down."""
        if self.is_gone:
            refuse(gone())
        elif self.has_journals:
            for partition in self.partitions:
                assert partition.journal is not None
                if partition.journal.retry_ms > self.clock.now_ms():
                    refuse(StorageFailed("the queue could not be written a moment ago"))
                    return
            work()
        else:
            self.owner.open_journals(
                self, lambda failure: work() if failure is None else refuse(failure)
            )


def gone() -> QueueDoesNotExist:
    return QueueDoesNotExist("The specified queue does not exist.")
