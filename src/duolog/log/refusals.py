"""Refusals that a log answers errors of the disk with."""

from duolog.model.errors import DiskFull, StorageFailed
from duolog.ports.disk import is_no_room


def not_written(what: str, error: OSError) -> StorageFailed:
    """The refusal of a write that failed, and of which nothing is left in the log."""
    refusal = DiskFull if is_no_room(error) else StorageFailed
    return refusal(f"{what} could not be written: {error.strerror or error}")
