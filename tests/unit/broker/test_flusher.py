"""In which order a partition hears of its syncs."""

from collections.abc import Callable, Sequence

from tests.fakes.cluster_nodes import ManualClock

from duolog.broker.flusher import Flusher
from duolog.observe.histogram import Histogram
from duolog.ports.disk import Syncable


class Disk:
    """Syncs when the test says so."""

    def __init__(self) -> None:
        self.running: list[Callable[[OSError | None], None]] = []

    def sync(self, targets: Sequence[Syncable], done: Callable[[OSError | None], None]) -> None:
        self.running.append(done)


class Partition:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def begin_sync(self) -> tuple[list[Syncable], int]:
        self.heard.append("begin")
        return [], 0

    def finish_sync(self, end_offset: int) -> None:
        self.heard.append("finish")

    def synced(self, end_offset: int) -> None:
        self.heard.append("synced")


def test_rule_08_a_sync_is_finished_before_the_next_one_begins() -> None:
    """What was cut off the log meanwhile bounds the one that ends, and not the next."""
    disk, partition = Disk(), Partition()
    flusher = Flusher(disk, ManualClock(), Histogram(), lambda failure: None)
    flusher.request(partition)
    flusher.request(partition)
    disk.running.pop()(None)
    assert partition.heard == ["begin", "finish", "begin", "synced"]
