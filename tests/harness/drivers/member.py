"""What the members of a consumer group have in common, whichever client they are."""

from abc import abstractmethod
from threading import Event, Thread

from tests.harness.drivers.ledger import DeliveryLedger

LEAVE_SECONDS_MAX = 15.0
SESSION_MS = 6_000
HEARTBEAT_MS = 300
RECORDS_PER_COMMIT = 20


class GroupMember(Thread):
    """Reads in a thread, and commits what it was given before it gives a partition up."""

    def __init__(self, address: str, group: str, topic: str, ledger: DeliveryLedger) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.group = group
        self.topic = topic
        self.ledger = ledger
        self.assigned: set[int] = set()
        self.failure: BaseException | None = None
        self._stopping = Event()
        self.start()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def run(self) -> None:
        try:
            self.consume()
        except BaseException as error:
            self.failure = error
            raise

    @abstractmethod
    def consume(self) -> None:
        """Read, note in the ledger and commit until `stopping`; then leave the group."""

    def leave(self) -> None:
        self._stopping.set()
        self.join(LEAVE_SECONDS_MAX)
        assert not self.is_alive(), "the member did not leave in time"
        self.assigned = set()
