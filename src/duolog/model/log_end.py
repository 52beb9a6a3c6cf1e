"""Where a copy's log ends, by which copies of one partition are compared."""

from typing import NamedTuple


class LogEnd(NamedTuple):
    """Ends compare by epoch first: a longer log of an earlier leader lacks what later ones wrote,
    and its surplus was never acknowledged."""

    last_epoch: int
    """Latest leader epoch that began in the log; NO_EPOCH if none did. One without records counts,
    too: whoever led in it had everything that was acknowledged before."""
    end_offset: int
