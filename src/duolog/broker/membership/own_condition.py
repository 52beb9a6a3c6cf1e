"""What this node knows of its own condition and has to tell the controller.

Set by whoever notices it; broker/membership/own_statement.py publishes it.
"""

import asyncio
from collections.abc import Callable


class OwnCondition:
    def __init__(self) -> None:
        self.is_full = False
        """True if the log directory has no room for new records."""
        self.changed = asyncio.Event()
        """Set by each change; cleared by whoever publishes it."""
        self.listeners: list[Callable[[], None]] = []
        """Called on each change."""

    def set_full(self, is_full: bool) -> None:
        if is_full != self.is_full:
            self.is_full = is_full
            self.changed.set()
            for listener in self.listeners:
                listener()
