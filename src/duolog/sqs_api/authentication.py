"""Who asks: the access key that signed a request, where keys are configured.

Where none are, nobody can be told apart, so every program on this machine may ask, signed in
whatever way, and nobody else may: no other machine, and no page in a browser on this one.
"""

from collections.abc import Callable, Mapping

from duolog.model.queue_errors import AccessDenied
from duolog.ports.http import Request
from duolog.wire.sqs import sigv4

NOBODY = ""
"""In place of an access key, of somebody who needed none."""

_LOOPBACK = ("127.", "[::1]:", "[::ffff:127.")


class Authentication:
    def __init__(
        self, credentials: Mapping[str, str], region: str, now_ms: Callable[[], int]
    ) -> None:
        """`credentials`: secret keys by access key."""
        self._secret_of = dict(credentials).get
        self._is_open = not credentials
        self._region = region
        self._now_ms = now_ms

    def sender_of(self, request: Request) -> str:
        """The access key. AccessDenied, or one of its kinds, when nobody may ask this."""
        if self._is_open:
            if not request.peer.startswith(_LOOPBACK):
                raise AccessDenied(
                    "This node has no credentials configured, so it serves only its own machine."
                )
            if _is_of_a_page(request.headers):
                raise AccessDenied(
                    "This node has no credentials configured, so it serves no pages of the web."
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


def _is_of_a_page(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a page has a browser ask this, as any page on the web can where nothing is signed.

    What somebody types into the browser's address bar is not of a page.
    """
    return b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none"
