"""What this node knows of its own condition and has to tell the controller.

Set by whoever notices it; broker/membership/own_statement.py publishes it.
"""

import asyncio
from collections.abc import Callable

from duolog.broker.reserve import Reserve


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

    def follow(self, reserve: Reserve) -> None:
        """Takes from now on whether the log directory is full, from the one who finds out."""

        def changed() -> None:
            self.set_full(reserve.is_full)

        reserve.on_change.append(changed)
        changed()
