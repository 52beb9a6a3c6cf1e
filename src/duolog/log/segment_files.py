"""Files of one segment: opened on demand, renamed before they are removed."""

from contextlib import suppress

from duolog.log.file_names import DELETED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES
from duolog.ports.disk import Disk, File


class SegmentFiles:
    __slots__ = ("_file", "deleted", "disk", "stem")

    def __init__(self, disk: Disk, stem: str) -> None:
        self.disk = disk
        self.stem = stem
        """Common beginning of the names of all its files."""
        self.deleted = False
        """True if the files were renamed before their removal."""
        self._file: File | None = None

    @property
    def path(self) -> str:
        return self.stem + LOG_SUFFIX

    @property
    def file(self) -> File:
        file = self._file
        if file is None:
            try:
                file = self._file = self.disk.open(self.path)
            except FileNotFoundError:
                # Compaction and scrubbing read on another thread; the owner may just have renamed
                # the file, which it keeps open for them.
                if self._file is None:
                    raise
                file = self._file
        return file

    def close_file(self) -> None:
        """Closes the file; it is reopened on demand."""
        self._file = None

    @property
    def paths(self) -> list[str]:
        """Paths of all its files, to be removed once the segment is deleted."""
        suffix = DELETED_SUFFIX if self.deleted else ""
        return [self.stem + kind + suffix for kind in SEGMENT_SUFFIXES]

    def mark_deleted(self) -> None:
        """Renames the files, so that after any crash nobody takes them for the log.

        Holders of the open file can go on reading it, even after the owner has removed `paths`.
        """
        # Opened for readers on another thread that may still need it; the names change without it.
        with suppress(OSError):
            _ = self.file
        for suffix in SEGMENT_SUFFIXES:
            path = self.stem + suffix
            if self.disk.exists(path):
                self.disk.rename(path, path + DELETED_SUFFIX)
        self.deleted = True

    def remove(self) -> None:
        """Removes the files at once. The log goes last: without it the others mean nothing."""
        for path in self.paths:
            self.disk.remove(path)
