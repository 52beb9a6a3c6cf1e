"""The disk of one machine, which outlives its processes, and the faults it can have."""

import errno
import os
from random import Random

from duolog.sim.inodes import Inode, NameChange, Names

CAPACITY_BYTES = 1 << 40
SYNC_NS = 400_000
"""Shortest time that a sync takes on a healthy disk; up to half as much is added at random."""
OFFLOAD_NS = 50_000


class Device:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = Names()
        self._stable_names = Names()
        self._pending_names: dict[str, list[NameChange]] = {}
        self.capacity_bytes = CAPACITY_BYTES
        self.used_bytes = 0
        self.slowness = 1.0
        """Factor by which every operation takes longer than usual."""
        self.fails_syncs = False
        self.fails_writes = False
        self.keeps_order = False
        """True if a later write never survives a crash that an earlier one did not."""
        self.operations_left: int | None = None
        """Changes left until the power is cut in the middle of the next one; None: no cut is
        planned."""

    # Called by faults.

    def crash(self) -> None:
        """Cut the power: each unsynced change is lost, torn or kept.

        Name changes survive in the order in which they were made, as with a journal.
        """
        for changes in self._pending_names.values():
            for change in changes[: self.random.randrange(len(changes) + 1)]:
                change(self._stable_names)
        self._pending_names.clear()
        self._stable_names.drop_orphans()
        for _, inode in self._stable_names.files():
            inode.crash(self.random, in_order=self.keeps_order)
        self.names = self._stable_names.copy()
        self.used_bytes = sum(inode.room_bytes for _, inode in self.names.files())
        self.heal()

    def heal(self) -> None:
        self.capacity_bytes = CAPACITY_BYTES
        self.slowness = 1.0
        self.fails_syncs = self.fails_writes = False
        self.operations_left = None

    def wipe(self) -> None:
        """Replace this disk by an empty one."""
        self.names, self._stable_names = Names(), Names()
        self._pending_names.clear()
        self.used_bytes = 0

    def fill(self, room_bytes: int) -> None:
        self.capacity_bytes = self.used_bytes + room_bytes

    def empty(self) -> None:
        """Give the disk its full capacity back."""
        self.capacity_bytes = CAPACITY_BYTES

    def flip_bit(self, path: str, position: int, bit: int) -> None:
        inode = self.names.find(path)
        assert inode is not None
        for content in (inode.content, inode.stable):
            if position < len(content):
                content[position] ^= 1 << bit

    # Called by files and directories.

    def sync_ns(self) -> int:
        return int(SYNC_NS * (1 + self.random.random() / 2) * self.slowness)

    def offload_ns(self) -> int:
        return int(OFFLOAD_NS * (1 + self.random.random()) * self.slowness)

    def change_names(self, directory: str, change: NameChange) -> None:
        change(self.names)
        self._pending_names.setdefault(directory, []).append(change)

    def sync_names(self, directory: str) -> None:
        for change in self._pending_names.pop(directory, ()):
            change(self._stable_names)

    def write(self, inode: Inode, path: str, position: int, data: bytes) -> None:
        """Write all of the data; on a full or failing disk write a part of it and raise OSError."""
        if self.fails_writes:
            inode.write(position, data[: self.random.randrange(len(data) + 1)])
            raise failure(errno.EIO, path)
        growth = position + len(data) - len(inode.content)
        if growth > 0:
            if self.used_bytes + growth > self.capacity_bytes:
                fitting = len(data) - (self.used_bytes + growth - self.capacity_bytes)
                if fitting > 0:
                    self.used_bytes = self.capacity_bytes
                    inode.write(position, data[:fitting])
                raise failure(errno.ENOSPC, path)
            self.used_bytes += growth
        inode.write(position, data)


def failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
