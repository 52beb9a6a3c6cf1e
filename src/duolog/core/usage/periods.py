"""Bounds of counting intervals, which never span the full hour."""

HOUR_MS = 3_600_000


def hour_start_ms(now_ms: int) -> int:
    return now_ms - now_ms % HOUR_MS


def hour_end_ms(now_ms: int) -> int:
    return hour_start_ms(now_ms) + HOUR_MS


def due_ms(from_ms: int, interval_ms: int) -> int:
    """Time at which an interval that began at `from_ms` has to end."""
    return min(from_ms + interval_ms, hour_end_ms(from_ms))


def end_ms(from_ms: int, now_ms: int) -> int:
    """End of an interval that is cut now.

    A late cut still belongs to the old hour, and a clock that was set back makes no interval end
    before it began.
    """
    return max(from_ms, min(now_ms, hour_end_ms(from_ms)))


def next_start_ms(ended_ms: int, now_ms: int) -> int:
    """Start of the next interval: at once, unless hours went by without a cut."""
    return max(ended_ms, hour_start_ms(now_ms))
