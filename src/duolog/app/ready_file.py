"""The file that tells whoever started a node where it serves, for as long as it does."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from duolog.app.data_directory import StartRefused

Announce = Callable[[Mapping[str, Any]], None]


@contextmanager
def ready_file(path: Path | None) -> Iterator[Announce]:
    """Yields what writes the addresses. Without a path it writes nothing.

    The file of an earlier node goes first, since somebody may be waiting for it to appear, and
    ours goes at the end. Raises StartRefused at once where it could not be written later.
    """
    if path is None:
        yield _announce_nowhere
        return
    if path.exists() and not path.is_file():
        raise StartRefused(
            f"The ready file {path} is not a regular file, and would be replaced."
            " Choose another with --ready-file."
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}")

    def announce(addresses: Mapping[str, Any]) -> None:
        """Whole or not at all: somebody is waiting for it to appear."""
        try:
            temporary.write_bytes(msgspec.json.encode(addresses) + b"\n")
            temporary.replace(path)
        except OSError as error:
            raise _cannot_be_written(path, error) from error

    try:
        path.unlink(missing_ok=True)
        temporary.touch()
    except OSError as error:
        raise _cannot_be_written(path, error) from error
    try:
        yield announce
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def _announce_nowhere(addresses: Mapping[str, Any]) -> None:
    """Nobody asked for a file."""


def _cannot_be_written(path: Path, error: OSError) -> StartRefused:
    return StartRefused(
        f"The ready file {path} cannot be written: {error.strerror}."
        " Choose another with --ready-file, in a directory that exists and is writable."
    )
