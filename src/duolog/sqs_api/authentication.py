"""Authentication: which access key signed a request, where keys are configured.

Without configured keys callers cannot be told apart, so every program on this machine is served,
whatever its signature, and nobody else: no other machine, and no page in a browser on this one.
"""

from collections.abc import Callable, Mapping

from duolog.model.queue_errors import AccessDenied
from duolog.ports.http import Request
from duolog.wire.local_requests import why_not_local
from duolog.wire.sqs import sigv4

NOBODY = ""
"""Sender of requests to a node that has no access keys."""


class Authentication:
    def __init__(
        self, credentials: Mapping[str, str], region: str, now_ms: Callable[[], int]
    ) -> None:
        """`credentials`: secret keys by access key."""
        self._secret_of = dict(credentials).get
        self.is_open = not credentials
        """True if no credentials are configured, so that requests need no signature."""
        self._region = region
        self._now_ms = now_ms

    def sender_of(self, request: Request) -> str:
        """The access key that signed the request. Raises AccessDenied or a relative of it."""
        if self.is_open:
            served = why_not_local(request.peer, request.headers)
            if served is not None:
                raise AccessDenied(
                    f"This node has no credentials configured, so it serves {served}."
                )
            return NOBODY
        return sigv4.verify(
            request.method,
            request.path,
            request.query,
            request.headers,
            request.body,
            secret_of=self._secret_of,
            region=self._region,
            now_ms=self._now_ms(),
        )
