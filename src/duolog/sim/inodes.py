"""Contents and names on a disk, each twice: as processes see them, and as they are stable.

Writes become stable when their file is synced, names when their directory is. A power cut keeps
everything that is stable, and of the rest some, as the seed decides.
"""

from collections import deque
from collections.abc import Callable
from random import Random

Change = tuple[int, bytes | None]
"""A write at a position, or with None a truncation to that size."""

NameChange = Callable[["Names"], object]


class Inode:
    __slots__ = ("_begun", "_pending", "content", "preallocated_bytes", "stable")

    def __init__(self) -> None:
        self.content = bytearray()
        self.stable = bytearray()
        self._pending: deque[Change] = deque()
        self._begun = 0
        """Changes taken off the pending ones so far."""
        self.preallocated_bytes = 0
        """Size of a file that only holds room and is never written, so that it costs no memory."""

    @property
    def room_bytes(self) -> int:
        return max(len(self.content), self.preallocated_bytes)

    def forget_clean(self) -> None:
        """Rebuild the content as after a drop of the page cache: stable bytes plus pending
        changes."""
        self.content = bytearray(self.stable)
        for change in self._pending:
            _apply(self.content, *change)

    def write(self, position: int, data: bytes) -> None:
        _apply(self.content, position, data)
        self._pending.append((position, data))

    def truncate(self, size: int) -> None:
        _apply(self.content, size, None)
        self._pending.append((size, None))

    def begin_sync(self) -> int:
        """Return a mark: the sync has to make all changes stable that are pending now."""
        return self._begun + len(self._pending)

    def finish_sync(self, mark: int) -> None:
        while self._begun < mark and self._pending:
            self._begun += 1
            _apply(self.stable, *self._pending.popleft())

    def fail_sync(self, mark: int) -> None:
        """Drop the changes without storing them, as Linux marks pages clean after a failed
        fsync."""
        while self._begun < mark and self._pending:
            self._begun += 1
            self._pending.popleft()

    def sync(self) -> None:
        self.finish_sync(self.begin_sync())

    def crash(self, random: Random, *, in_order: bool) -> None:
        """Keep none of the pending changes, those up to a torn one, or a random selection."""
        fate = random.random()
        pending = list(self._pending)
        if fate < 0.45:
            pending.clear()
        elif in_order or fate < 0.9:
            del pending[random.randrange(len(pending) + 1) :]
            if pending and pending[-1][1] is not None:
                position, data = pending[-1]
                assert data is not None
                pending[-1] = (position, _torn(data, random))
        else:
            pending = [each for each in pending if random.random() < 0.5]
        for change in pending:
            _apply(self.stable, *change)
        self._begun += len(self._pending)
        self._pending.clear()
        self.content = bytearray(self.stable)


def _torn(data: bytes, random: Random) -> bytes:
    """The data cut off at some byte, or with zeros in place of some bytes in the middle."""
    first = random.randrange(len(data) + 1)
    if random.random() < 0.5:
        return data[:first]
    last = random.randrange(first, len(data) + 1)
    return data[:first] + bytes(last - first) + data[last:]


def _apply(content: bytearray, position: int, data: bytes | None) -> None:
    size = len(content)
    if data is None:
        if position < size:
            del content[position:]
        else:
            content.extend(bytes(position - size))
    elif position == size:
        content += data
    else:
        if size < position:
            content.extend(bytes(position - size))
        content[position : position + len(data)] = data


class Names:
    """Directories and their entries: a file, or None for a directory."""

    def __init__(self) -> None:
        self.directories: dict[str, dict[str, Inode | None]] = {"": {}}

    def find(self, path: str) -> Inode | None:
        parent, _, name = path.rpartition("/")
        return self.directories.get(parent, {}).get(name)

    def exists(self, path: str) -> bool:
        return path in self.directories or self.find(path) is not None

    def link(self, path: str, inode: Inode | None) -> None:
        parent, _, name = path.rpartition("/")
        # The entries of a directory may become stable before the directory itself does.
        self.directories.setdefault(parent, {})[name] = inode
        if inode is None:
            self.directories.setdefault(path, {})

    def unlink(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        self.directories.get(parent, {}).pop(name, None)
        for each in [key for key in self.directories if key == path or key.startswith(path + "/")]:
            del self.directories[each]

    def rename(self, source: str, target: str) -> None:
        if not self.exists(source):
            return
        inode = self.find(source)
        moved = {
            target + key[len(source) :]: self.directories[key]
            for key in list(self.directories)
            if key == source or key.startswith(source + "/")
        }
        self.unlink(source)
        self.unlink(target)
        self.link(target, inode)
        self.directories.update(moved)

    def drop_orphans(self) -> None:
        """Forget directories that no name leads to."""
        for path in sorted(self.directories):
            parent, _, name = path.rpartition("/")
            if path and name not in self.directories.get(parent, ()):
                del self.directories[path]

    def files(self) -> list[tuple[str, Inode]]:
        return [
            (f"{parent}/{name}" if parent else name, inode)
            for parent, entries in self.directories.items()
            for name, inode in entries.items()
            if inode is not None
        ]

    def copy(self) -> "Names":
        copied = Names()
        copied.directories = {path: dict(entries) for path, entries in self.directories.items()}
        return copied
