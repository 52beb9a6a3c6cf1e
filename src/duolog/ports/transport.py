"""Connections, as a door sees them.

A listener (adapters/tcp.py, the simulator's network) drives a Session; the Session answers
through its Transport. Received bytes go straight into the session's own buffer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duolog.ports.disk import File


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes of a file to send without reading them into Python, where the socket allows."""

    file: File
    position: int
    length: int


Chunk = bytes | FileRange


class Transport(Protocol):
    @property
    def peer(self) -> str:
        """host:port of the other side, for logs."""
        ...

    @property
    def host(self) -> str:
        """The peer's address without its port."""
        ...

    @property
    def identity(self) -> str | None:
        """Who the peer's certificate says it is; None without one."""
        ...

    def send(self, data: bytes) -> None:
        """As `write`, for bytes alone: what nearly every answer is."""
        ...

    def write(self, chunks: Sequence[Chunk]) -> None:
        """Send in order. What the socket does not take now is queued; see `Session.drained`."""
        ...

    @property
    def backlog_bytes(self) -> int:
        """Bytes accepted by `write` that the socket has not taken yet."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Send what is queued, then close."""
        ...

    def abort(self) -> None:
        """Close now."""
        ...


class Session(Protocol):
    def get_buffer(self) -> memoryview:
        """Where the next bytes go; never empty."""
        ...

    def received(self, count: int) -> None:
        """`count` bytes were put at the start of the buffer last asked for."""
        ...

    def drained(self) -> None:
        """The transport's backlog has become empty again."""
        ...

    def closed(self) -> None:
        """The connection is gone: end of stream, error, or our own close. Called once."""
        ...
