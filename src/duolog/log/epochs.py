"""Leader epochs of a log and their start offsets.

Followers and readers ask where an epoch ended, to find where two logs diverge.
"""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from duolog.log.checked_file import read_checked, write_checked_unsynced
from duolog.ports.disk import Disk, File
from duolog.records.header import BatchHeader

EPOCHS_FILE = "leader-epochs"
NO_EPOCH = -1
NO_OFFSET = -1


class EpochHistory:
    """Epochs and their start offsets, both strictly ascending."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries:
            self.assign(epoch, start)

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else NO_EPOCH

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Begins an epoch; False if it, or a later one, has begun already."""
        if epoch <= self.latest:
            return False
        # An epoch in which nothing was written leaves nothing to compare.
        while self._starts and self._starts[-1] >= start_offset:
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        return True

    def replay(self, header: BatchHeader) -> bool:
        return self.assign(header.leader_epoch, header.base_offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The latest known epoch up to the given one, and where it ended, as Kafka answers.

        (-1, -1), unknown, for an epoch newer than all, and for none.
        """
        if epoch == NO_EPOCH or epoch > self.latest:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        following = bisect_right(self._epochs, epoch)
        if following == 0:
            return epoch, self._starts[0]
        return self._epochs[following - 1], self._starts[following]

    def epoch_at(self, offset: int) -> int:
        """The epoch of the record at the offset."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else NO_EPOCH

    def closed_epoch_at(self, offset: int) -> int:
        """The epoch of the record at the offset if a later one has begun since; else NO_EPOCH."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if 0 <= index < len(self._epochs) - 1 else NO_EPOCH

    def truncate_end(self, offset: int) -> bool:
        """Forgets epochs that begin at or after the offset; True if there were any."""
        kept = len(self._starts)
        while kept and self._starts[kept - 1] >= offset:
            kept -= 1
        changed = kept < len(self._starts)
        del self._epochs[kept:], self._starts[kept:]
        return changed

    def truncate_start(self, offset: int) -> None:
        """Forgets epochs that ended at or before the offset; the current one then begins there."""
        first = bisect_right(self._starts, offset) - 1
        if first >= 0:
            del self._epochs[:first], self._starts[:first]
            self._starts[0] = offset


def read_epochs(disk: Disk, directory: str) -> EpochHistory | None:
    """The stored history; None if it is missing or unreadable."""
    body = read_checked(disk, f"{directory}/{EPOCHS_FILE}")
    if body is None:
        return None
    try:
        return EpochHistory(msgspec.json.decode(body, type=list[tuple[int, int]]))
    except msgspec.DecodeError:
        return None


def write_epochs(disk: Disk, directory: str, history: EpochHistory) -> File:
    """Writes the history; durable once the returned file and the directory are synced.

    That is soon enough with the first batch of a new epoch: without the batch nobody misses the
    epoch, and a history that a crash has damaged is rebuilt from the batches.
    """
    body = msgspec.json.encode(history.entries)
    return write_checked_unsynced(disk, f"{directory}/{EPOCHS_FILE}", body)
