"""Decides when a node renews its lease, and when it stops serving because it could not.

The others elect new leaders once the lease has ended at the store. This node must have stopped
before that, whatever became of its renewals, so it counts from when the last one that
succeeded was *sent*: the store cannot have begun to count earlier. Pure: no clock, no IO.

Driven by broker/membership/membership.py.
"""

from enum import Enum, auto

RENEWALS_PER_TTL = 3
"""Two renewals may be lost before the third one is too late."""

MARGIN_SHARE = 5
"""The last fifth of the lease's time is not used: for clocks that differ in speed, and for
what is on its way to a client while this node stops."""


class Step(Enum):
    WAIT = auto()
    """Nothing until a renewal is due, or serving must end."""
    RENEW = auto()
    SUSPEND = auto()
    """Stop serving: the others may soon take this node for gone."""
    RESUME = auto()
    """The lease never ended; serve again, under the same epoch."""
    REGISTER = auto()
    """The lease has ended; register anew, under a new epoch."""


class Lease:
    """One node's claim to be alive. Begins as lost: nobody has registered yet."""

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
        """As the caller was last told by a step."""
        return self._is_serving

    def step(self, now_ms: int) -> Step:
        """What to do now; asked again until it says WAIT."""
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
        """When serving must end if no renewal succeeds before."""
        return self._serve_until_ms

    def registered(self, sent_ms: int) -> None:
        """A lease that was asked for at `sent_ms` now holds this node's registration."""
        self._is_lost = False
        self._serve_until_ms = sent_ms + self._served_ms
        self._renew_at_ms = sent_ms + self.interval_ms

    def renewal_sent(self, now_ms: int) -> None:
        """The next one is due an interval later, whatever becomes of this one."""
        self._renew_at_ms = now_ms + self.interval_ms

    def renewal_failed(self, retry_ms: int) -> None:
        """Nobody knows whether it counted. The next one is sent then, if not earlier."""
        self._renew_at_ms = min(self._renew_at_ms, retry_ms)

    def renewed(self, sent_ms: int) -> None:
        self._serve_until_ms = max(self._serve_until_ms, sent_ms + self._served_ms)

    def lost(self) -> None:
        """The store says that the lease is gone."""
        self._is_lost = True
