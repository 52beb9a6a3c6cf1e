"""Renewal of a lease apart from the event loop, so that a long turn does not cost it."""

from typing import Protocol

from duolog.ports.metastore import LeaseId


class LeaseGuard(Protocol):
    def guard(self, lease: LeaseId | None) -> None:
        """Renews this lease from now on instead of any other; None: no lease at all."""
        ...

    def is_expired(self, lease: LeaseId) -> bool:
        """True if the store has said that the lease is gone."""
        ...

    def renewed_ms(self, lease: LeaseId) -> int:
        """Monotonic time at which the newest renewal of the lease that succeeded was sent; 0 if
        none has."""
        ...
