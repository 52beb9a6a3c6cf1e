"""Who asks: the access key that signed a request, where keys are configured.

Where none are, nobody can be told apart, so every program on this machine may ask, signed in
whatever way, and nobody else may: no other machine, and no page in a browser on this one.
"""

from collections.abc import Callable, Mapping

from duolog.model.queue_errors import AccessDenied
from duolog.ports.http import Request
from duolog.wire.local_requests import why_not_local
from duolog.wire.sqs import sigv4

NOBODY = ""
"""In place of an access key, of somebody who needed none."""


class Authentication:
    def __init__(
        self, credentials: Mapping[str, str], region: str, now_ms: Callable[[], int]
    ) -> None:
        """`credentials`: secret keys by access key."""
        self._secret_of = dict(credentials).get
        self.is_open = not credentials
        """Whether nobody has to sign."""
        self._region = region
        self._now_ms = now_ms

    def sender_of(self, request: Request) -> str:
        """The access key. AccessDenied, or one of its kinds, when nobody may ask this."""
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
