"""What the SQS door counts of one queue."""

from typing import NamedTuple

from duolog.core.usage.tally import Tally


class QueueTally(NamedTuple):
    sent: Tally
    received: Tally
    deleted: Tally
    other: Tally
    """Every action that moves no message."""
