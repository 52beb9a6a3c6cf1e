"""File systems that can be filled or cut off, without touching any other."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXT4_IOC_SHUTDOWN = 0x8004587D
SHUTDOWN_WITHOUT_FLUSH = 2


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} does not work here: {done.stderr.strip()}")


def _need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")


@contextmanager
def small_file_system(at: Path, size_bytes: int) -> Iterator[Path]:
    """A file system in memory that is soon full."""
    _need_root()
    at.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(at))
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


class PowerCut:
    """An ext4 file system in a file, whose power can be cut: what was not synced is gone."""

    def __init__(self, directory: Path, size_bytes: int) -> None:
        _need_root()
        self.mounted = directory / "mounted"
        self._image = directory / "image"
        self.mounted.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", "-q", str(self._image))
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.mounted))

    def cut(self) -> None:
        descriptor = os.open(self.mounted, os.O_RDONLY | os.O_DIRECTORY)
        try:
            flags = SHUTDOWN_WITHOUT_FLUSH.to_bytes(4, "little")
            fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, flags)
        finally:
            os.close(descriptor)

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.mounted)], check=True)

    def remove(self) -> None:
        subprocess.run(["umount", "-l", str(self.mounted)], check=False, capture_output=True)
        self._image.unlink()
