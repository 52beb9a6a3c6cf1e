"""Until when this node surely counts as alive for the others.

A process that was stopped for a while finds requests in its sockets when it goes on, and serves
them before any timer fires. So whoever answers for a leader compares the time first.
"""

from collections.abc import Callable

NEVER_NS = 1 << 63


class Liveness:
    __slots__ = ("look", "until_ns")

    def __init__(self) -> None:
        self.until_ns = NEVER_NS
        """On the monotonic clock. A node alone is never taken for dead."""
        self.look: Callable[[], object] = lambda: None
        """To be called once that time has come: it suspends what must not be served."""
