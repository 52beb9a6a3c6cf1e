"""The reserve of a log directory, and the gate in front of everything that may not use it.

While there is room, the reserve is a preallocated file. When the disk is full, the gate closes: no
new messages, copies or rewritten segments. Then the file is removed, and its room is left to
journals, group offsets, checkpoints and metadata, so that receiving, deleting and purging go on.
The gate comes first, because free space belongs to whoever writes first. It opens again once the
file is back, and as much again is free.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from duolog.model.errors import DiskFull
from duolog.observe.logs import get_logger
from duolog.ports.disk import Disk, is_no_room

RESERVE_FILE = "reserve"

LOOK_S = 0.5
"""Interval at which free space is looked at."""

LOW_SHARE = 16
"""The gate closes when less than this part of the reserve's size is free: what is not an append,
such as a sync that must allocate, should not be the first to meet a full disk."""

log = get_logger("storage")


class NoReserve:
    """A reserve of nothing: a full disk closes no gate."""

    is_full = False

    def close(self) -> None:
        """Closes the gate; the reserve is freed once this turn of the event loop ends."""

    def free(self) -> bool:
        """Closes the gate and frees the reserve; True if that made room to try again."""
        return False


class Reserve(NoReserve):
    def __init__(self, disk: Disk, size: int) -> None:
        self._disk = disk
        self._size = size
        self.is_full = False
        """True while the gate is closed."""
        self.is_used_up = False
        """True if, while the gate was closed, what may use the reserve found no room either."""
        self._is_held = False
        """True while the file is there, at its full size."""
        self._has_begun = False
        self.on_change: list[Callable[[], None]] = []
        """Called when the disk becomes full, when its reserve is used up, and when there is room
        again."""

    def refusal(self) -> DiskFull:
        return DiskFull(
            "the disk of this node is full: it takes no new messages until there is room;"
            " what it has can be read, received and deleted"
        )

    @property
    def trouble(self) -> str:
        """What does not work for want of room; empty if all does."""
        if not self.is_full:
            return ""
        if self.is_used_up:
            return "the disk is full, and its reserve is used up: only reading works"
        return "the disk is full: no new messages are taken, reading and deleting work"

    async def begin(self) -> None:
        """Finds or makes the reserve; closes the gate if there is no room for it."""
        if self._has_begun:
            return
        self._has_begun = True
        is_found = self._disk.exists(RESERVE_FILE)
        if is_found or self._disk.free_bytes() >= 2 * self._size:
            self._is_held = await self._preallocate()
        if not self._is_held:
            self._close()
        elif self._is_low():
            self.free()

    def close(self) -> None:
        if not self.is_full:
            self._close()
            # Batches that were staged in this turn have passed the gate already. They would take
            # what is freed now.
            asyncio.get_running_loop().call_soon(self._remove)

    def free(self) -> bool:
        if not self.is_full:
            self._close()
        elif not self._is_held:
            self._use_up()
            return False
        self._remove()
        return True

    async def run(self) -> None:
        """Looks at the free space until cancelled: closes and opens the gate."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        if not self.is_full:
            if self._is_low():
                self.free()
            return
        wanted = self._size if self._is_held else 2 * self._size
        if self._disk.free_bytes() < wanted:
            return
        if not self._is_held:
            self.is_used_up = False
            self._is_held = await self._preallocate()
            if self.is_used_up:
                # Asked for meanwhile, when there was no file yet to be freed.
                self._remove()
        if self._is_held and self._disk.free_bytes() >= self._size:
            self._open()

    def _is_low(self) -> bool:
        return self._disk.free_bytes() < self._size // LOW_SHARE

    async def _preallocate(self) -> bool:
        try:
            await self._disk.offload(partial(self._disk.preallocate, RESERVE_FILE, self._size))
        except OSError as error:
            if not is_no_room(error):
                raise
            return False
        return True

    def _close(self) -> None:
        self.is_full = True
        log.error(
            "the disk is full: no new messages until there is room, receiving and deleting go on",
            free_bytes=self._disk.free_bytes(),
            wanted_bytes=2 * self._size,
        )
        self._tell()

    def _open(self) -> None:
        self.is_full = self.is_used_up = False
        log.error("the disk has room again", free_bytes=self._disk.free_bytes())
        self._tell()

    def _use_up(self) -> None:
        if not self.is_used_up:
            self.is_used_up = True
            log.error("the reserve of the full disk is used up: receiving and deleting fail, too")
            self._tell()

    def _remove(self) -> None:
        if self._is_held:
            self._is_held = False
            self._disk.remove(RESERVE_FILE)

    def _tell(self) -> None:
        for changed in self.on_change:
            changed()


NO_RESERVE = NoReserve()
