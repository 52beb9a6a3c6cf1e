"""The lease deadline: until then, the cluster surely takes this node for alive.

A process that was stopped for a while finds requests in its sockets when it continues, and would
serve them before any timer fires. So everything that answers as a leader checks the time first.
"""

from collections.abc import Callable

NEVER_NS = 1 << 63


class Liveness:
    __slots__ = ("look", "until_ns")

    def __init__(self) -> None:
        self.until_ns = NEVER_NS
        """Deadline on the monotonic clock; NEVER_NS for a sole node, which has no lease."""
        self.look: Callable[[], object] = lambda: None
        """Callback for when the deadline has passed: suspends the node's leaderships."""
