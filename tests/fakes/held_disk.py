"""A fake disk on which syncs can be held back, so that a crash finds writes without them."""

from collections.abc import Sequence
from random import Random

from tests.fakes.disk import FakeDisk

from duolog.ports.disk import Syncable, SyncDone


class HeldDisk(FakeDisk):
    def __init__(self) -> None:
        super().__init__()
        self.is_held = False
        self._syncs: list[tuple[Sequence[Syncable], SyncDone]] = []

    @property
    def is_settled(self) -> bool:
        """Whether nobody waits for a sync."""
        return not self._syncs

    def sync(self, targets: Sequence[Syncable], done: SyncDone) -> None:
        if self.is_held:
            self._syncs.append((list(targets), done))
        else:
            super().sync(targets, done)

    def finish_sync(self) -> None:
        if self._syncs:
            super().sync(*self._syncs.pop(0))

    def release(self) -> None:
        self.is_held = False
        while self._syncs:
            self.finish_sync()

    def crash(self, random: Random | None = None) -> None:
        """With a Random a sync that was under way may have done some of its work."""
        if random is not None:
            for targets, _ in self._syncs:
                for target in targets[: random.randrange(len(targets) + 1)]:
                    target.sync()
        self._syncs.clear()
        self.is_held = False
        super().crash(random)
