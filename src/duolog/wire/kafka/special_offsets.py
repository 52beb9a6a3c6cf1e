"""Numbers that stand for a place in a partition where an offset, or a time, is asked for."""

LATEST = -1
EARLIEST = -2
