"""HTTP requests and answers, as a door sees them. adapters/http.py carries them."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Request:
    method: str
    path: str
    """As sent, still percent-encoded: signatures are made over these very characters."""
    query: str
    """What follows '?', as sent."""
    headers: dict[bytes, bytes]
    """Names in lower case. A repeated header has its values joined by a comma."""
    body: bytes
    peer: str
    """host:port of the other side."""


@dataclass(slots=True)
class Response:
    status: int
    headers: Sequence[tuple[bytes, bytes]]
    """Without Content-Length, Connection and Date, which the server adds."""
    body: bytes


Handler = Callable[[Request], Response | Coroutine[Any, Any, Response]]
"""Answers at once or, where it has to wait, as a coroutine.

The coroutine is cancelled when the client goes away before it is done.
"""
