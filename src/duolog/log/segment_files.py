"""The files of one segment: open when somebody needs them, renamed before they go."""

from contextlib import suppress

from duolog.log.file_names import DELETED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES
from duolog.ports.disk import Disk, File


class SegmentFiles:
    __slots__ = ("_file", "deleted", "disk", "stem")

    def __init__(self, disk: Disk, stem: str) -> None:
        self.disk = disk
        self.stem = stem
        """What the names of all its files begin with."""
        self.deleted = False
        """Whether the files have been renamed on their way out."""
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
                # Compaction and scrubbing read on another thread; the owner may just have
                # renamed the file, which it keeps open for them.
                if self._file is None:
                    raise
                file = self._file
        return file

    def close_file(self) -> None:
        """Let go of the file; it comes back when asked for."""
        self._file = None

    @property
    def paths(self) -> list[str]:
        """All its files, to be removed once the segment is deleted."""
        suffix = DELETED_SUFFIX if self.deleted else ""
        return [self.stem + kind + suffix for kind in SEGMENT_SUFFIXES]

    def mark_deleted(self) -> None:
        """Rename the files, so that whatever follows, nobody takes them for the log.

        Who holds the file can go on reading it, also after the owner has removed `paths`.
        """
        # Open for who may still ask for it on another thread; the names change without it.
        with suppress(OSError):
            _ = self.file
        for suffix in SEGMENT_SUFFIXES:
            path = self.stem + suffix
            if self.disk.exists(path):
                self.disk.rename(path, path + DELETED_SUFFIX)
        self.deleted = True

    def remove(self) -> None:
        """Remove the files at once. The log goes last: without it the others mean nothing."""
        for path in self.paths:
            self.disk.remove(path)
