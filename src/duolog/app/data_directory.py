"""Ownership of a data directory: by one process at a time, and by one node for good."""

import fcntl
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from duolog.ports.disk import is_no_room

LOCK_NAME = "lock"
IDENTITY_NAME = "node.json"
CLEAN_STOP_NAME = "stopped-cleanly"


class StartRefused(Exception):
    """The node must not start. The text gives the reason and the remedy."""


class Identity(msgspec.Struct, frozen=True):
    cluster_id: str
    node_id: int
    directory: str
    """Id of the directory itself; a replaced or emptied directory gets a new one."""


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_fd = -1

    def lock(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock_fd = os.open(self.path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o640)
        except OSError as error:
            raise StartRefused(
                f"The data directory {self.path} cannot be used: {error.strerror}."
                " Choose another with --data, or make it writable."
            ) from error
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._lock_fd, 32, 0).decode(errors="replace").strip() or "unknown"
            raise StartRefused(
                f"The data directory {self.path} is in use by process {holder}."
                " Stop that node first, or choose another directory with --data."
            ) from error
        self.name_holder()

    def name_holder(self) -> None:
        """Writes the process id into the lock, if there is room for it."""
        # Over the last holder's, which needs no room.
        with suppress(OSError):
            os.ftruncate(self._lock_fd, os.pwrite(self._lock_fd, f"{os.getpid()}\n".encode(), 0))

    def unlock(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def claim(
        self, cluster_id: str, node_id: int, *, holds_topics: bool, new_id: Callable[[], uuid.UUID]
    ) -> Identity:
        """Mark an empty directory as this node's.

        Refuses a directory of another node, and one that lost its mark although the metadata
        remember it.
        """
        file = self.path / IDENTITY_NAME
        try:
            found = msgspec.json.decode(file.read_bytes(), type=Identity)
        except FileNotFoundError:
            if holds_topics or any(self.path.glob("*-[0-9]*/topic-id.*")):
                raise StartRefused(
                    f"The data directory {self.path} holds partitions but no {IDENTITY_NAME}."
                    " It is incomplete: restore it from where it came, or start with an empty one."
                ) from None
            found = Identity(cluster_id, node_id, str(new_id()))
            self._write(file, msgspec.json.encode(found))
            return found
        except msgspec.DecodeError as error:
            raise StartRefused(
                f"{file} is damaged. Restore it, or start with an empty directory."
            ) from error
        if (found.cluster_id, found.node_id) != (cluster_id, node_id):
            raise StartRefused(
                f"The data directory {self.path} belongs to node {found.node_id} of cluster"
                f" {found.cluster_id}, not to node {node_id} of {cluster_id}."
                " Use that node's settings, or choose another directory with --data."
            )
        return found

    def take_clean_stop(self) -> bool:
        """True if the last run stopped cleanly; the mark is removed, so that a crash of this run
        shows."""
        file = self.path / CLEAN_STOP_NAME
        if not file.exists():
            return False
        file.unlink()
        self._sync()
        return True

    def note_clean_stop(self) -> None:
        """Marks a clean stop; without room for the mark, the next start takes this one for a
        crash."""
        try:
            self._write(self.path / CLEAN_STOP_NAME, b"")
        except OSError as error:
            if not is_no_room(error):
                raise

    def _write(self, file: Path, data: bytes) -> None:
        temporary = file.with_suffix(".tmp")
        with temporary.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.rename(file)
        self._sync()

    def _sync(self) -> None:
        directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
