"""Going on behind what cannot be read."""

from duolog.log.log import Log


def past_damage(log: Log, offset: int) -> int:
    """The offset at which to read on, when the batch at `offset` turned out to be damaged."""
    for damage in log.damaged:
        if damage.first_offset <= offset < damage.next_offset:
            return damage.next_offset
    damaged = next(log.headers(offset), None)
    return log.end_offset if damaged is None else max(offset + 1, damaged.next_offset)
