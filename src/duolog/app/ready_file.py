"""The ready file: holds a node's addresses for as long as the node serves."""

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
    """Yield a function that writes the addresses; without a path it writes nothing.

    An earlier node's file is removed first, because a starter may be waiting for it to appear, and
    ours at the end. Raises StartRefused at once where it could not be written later.
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
        """Write the file atomically: a reader may be waiting for it to appear."""
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
    """Write nothing: no ready file was asked for."""


def _cannot_be_written(path: Path, error: OSError) -> StartRefused:
    return StartRefused(
        f"The ready file {path} cannot be written: {error.strerror}."
        " Choose another with --ready-file, in a directory that exists and is writable."
    )
