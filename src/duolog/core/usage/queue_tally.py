"""Tallies of one queue at the SQS door."""

from typing import NamedTuple

from duolog.core.usage.tally import Tally


class QueueTally(NamedTuple):
    sent: Tally
    received: Tally
    deleted: Tally
    other: Tally
    """Actions that move no message."""
