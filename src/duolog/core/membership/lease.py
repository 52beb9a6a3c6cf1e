"""Decides when a node renews its lease, and when it stops serving because it could not.

The controller elects new leaders once the lease has expired at the store. This node must have
stopped before that, whatever became of its renewals, so it counts from when the last successful one
was *sent*: the store cannot have begun to count earlier. Pure: no clock, no IO.

Driven by broker/membership/membership.py.
"""

from enum import Enum, auto

RENEWALS_PER_TTL = 3
"""Renewals sent per lease time: two may be lost before the third is too late."""

MARGIN_SHARE = 5
"""Fraction of the lease's time that is not used, as divisor: for clocks that differ in speed, and
for answers that are on their way while this node stops."""


class Step(Enum):
    WAIT = auto()
    """Do nothing until a renewal is due, or serving must end."""
    RENEW = auto()
    SUSPEND = auto()
    """Stop serving: the controller may soon declare this node gone."""
    RESUME = auto()
    """Serve again, under the same epoch: the lease never ended."""
    REGISTER = auto()
    """Register anew, under a new epoch: the lease has ended."""


class Lease:
    """Lease of one node. Begins as lost: the node has not registered yet."""

    def __init__(self, ttl_ms: int) -> None:
        assert ttl_ms >= RENEWALS_PER_TTL * MARGIN_SHARE
        self.ttl_ms = ttl_ms
        self.interval_ms = ttl_ms // RENEWALS_PER_TTL
        self._served_ms = ttl_ms - ttl_ms // MARGIN_SHARE
        self._is_lost = True
        self._is_serving = False
        self._serve_until_ms = 0
        self._renew_at_ms = 0

    @property
    def is_serving(self) -> bool:
        """True between a RESUME and the next SUSPEND that `step` returned."""
        return self._is_serving

    def step(self, now_ms: int) -> Step:
        """The next step; asked again until it is WAIT."""
        is_safe = not self._is_lost and now_ms < self._serve_until_ms
        if self._is_serving and not is_safe:
            self._is_serving = False
            return Step.SUSPEND
        if is_safe and not self._is_serving:
            self._is_serving = True
            return Step.RESUME
        if self._is_lost:
            return Step.REGISTER
        return Step.RENEW if now_ms >= self._renew_at_ms else Step.WAIT

    @property
    def renew_at_ms(self) -> int:
        return self._renew_at_ms

    @property
    def serve_until_ms(self) -> int:
        """Deadline at which serving must end if no renewal succeeds before."""
        return self._serve_until_ms

    def registered(self, sent_ms: int) -> None:
        """Starts serving time from `sent_ms`, when the granted lease was asked for."""
        self._is_lost = False
        self._serve_until_ms = sent_ms + self._served_ms
        self._renew_at_ms = sent_ms + self.interval_ms

    def renewal_sent(self, now_ms: int) -> None:
        """Schedules the next renewal an interval later, whatever becomes of this one."""
        self._renew_at_ms = now_ms + self.interval_ms

    def renewal_failed(self, retry_ms: int) -> None:
        """Brings the next renewal forward: the failed one may or may not have counted."""
        self._renew_at_ms = min(self._renew_at_ms, retry_ms)

    def renewed(self, sent_ms: int) -> None:
        self._serve_until_ms = max(self._serve_until_ms, sent_ms + self._served_ms)

    def renewed_elsewhere(self, sent_ms: int) -> None:
        """The lease was renewed by another thread: while that one is in time, none is due here."""
        self.renewed(sent_ms)
        self._renew_at_ms = max(self._renew_at_ms, sent_ms + self.interval_ms * 3 // 2)

    def lost(self) -> None:
        """Notes that the store has ended the lease."""
        self._is_lost = True
