"""How far each log of a data directory was durable when it was last written down.

Recovery scans a log only from there on, so a missing or damaged file costs time, not data.
"""

import msgspec

from duolog.log.checked_file import read_checked, write_checked
from duolog.ports.disk import Disk

RECOVERY_POINTS_FILE = "recovery-points"

RecoveryPoints = dict[tuple[str, int], int]
"""Topic and partition → an offset below which everything was durable."""


def write_checkpoint(disk: Disk, points: RecoveryPoints, path: str = RECOVERY_POINTS_FILE) -> None:
    rows = [(topic, partition, offset) for (topic, partition), offset in sorted(points.items())]
    write_checked(disk, path, msgspec.json.encode(rows))


def read_checkpoint(disk: Disk, path: str = RECOVERY_POINTS_FILE) -> RecoveryPoints:
    body = read_checked(disk, path)
    if body is None:
        return {}
    try:
        rows = msgspec.json.decode(body, type=list[tuple[str, int, int]])
    except msgspec.DecodeError:
        return {}
    return {(topic, partition): offset for topic, partition, offset in rows}
