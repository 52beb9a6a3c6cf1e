"""Recovery points: offsets up to which each log of a data directory is durable.

Recovery scans a log only from there on, so a missing, old or damaged file costs time, not data. All
logs are in one file, and those that changed since in another, which is small if most logs are idle.
"""

import msgspec

from duolog.log.checked_file import read_checked, write_checked
from duolog.ports.disk import Disk

RECOVERY_POINTS_FILE = "recovery-points"
RECENT_POINTS_FILE = "recovery-points.recent"
WATERMARKS_FILE = "high-watermarks"

RecoveryPoints = dict[tuple[str, int], int]
"""(Topic, partition) → an offset below which everything was durable."""


def write_checkpoint(disk: Disk, points: RecoveryPoints) -> None:
    """Writes all points, durably, and drops the recent ones."""
    _write(disk, RECOVERY_POINTS_FILE, points)
    # One that comes back after a crash is older, and just as true.
    disk.remove(RECENT_POINTS_FILE)


def write_recent(disk: Disk, points: RecoveryPoints) -> None:
    """Writes all points changed since `write_checkpoint`, durably."""
    _write(disk, RECENT_POINTS_FILE, points)


def read_checkpoint(disk: Disk) -> tuple[RecoveryPoints, RecoveryPoints]:
    """All points, and those changed since `write_checkpoint`."""
    recent = _read(disk, RECENT_POINTS_FILE)
    if not recent and disk.exists(RECENT_POINTS_FILE):
        # A log may have been truncated since `write_checkpoint`: the older file alone proves
        # nothing.
        return {}, {}
    return _read(disk, RECOVERY_POINTS_FILE) | recent, recent


def write_watermarks(disk: Disk, watermarks: RecoveryPoints) -> None:
    """Writes the high watermarks of replicated logs, durably."""
    _write(disk, WATERMARKS_FILE, watermarks)


def read_watermarks(disk: Disk) -> RecoveryPoints:
    """High watermarks; a lost file costs waiting for the other replicas, not data."""
    return _read(disk, WATERMARKS_FILE)


def _write(disk: Disk, path: str, points: RecoveryPoints) -> None:
    rows = [(topic, partition, offset) for (topic, partition), offset in points.items()]
    write_checked(disk, path, msgspec.json.encode(rows))


def _read(disk: Disk, path: str) -> RecoveryPoints:
    body = read_checked(disk, path)
    if body is None:
        return {}
    try:
        rows = msgspec.json.decode(body, type=list[tuple[str, int, int]])
    except msgspec.DecodeError:
        return {}
    return {(topic, partition): offset for topic, partition, offset in rows}
