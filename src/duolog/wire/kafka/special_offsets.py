"""Special offsets and timestamps that stand for the ends of a partition."""

LATEST = -1
EARLIEST = -2
