"""Skips damaged batches when a log is read."""

from duolog.log.log import Log


def past_damage(log: Log, offset: int) -> int:
    """First offset after the damaged batch at `offset`, where reading continues."""
    for damage in log.damaged:
        if damage.first_offset <= offset < damage.next_offset:
            return damage.next_offset
    damaged = next(log.headers(offset), None)
    return log.end_offset if damaged is None else max(offset + 1, damaged.next_offset)
