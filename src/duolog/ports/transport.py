"""Connections, as a door sees them.

A listener (adapters/tcp.py, the simulator's network) drives a Session; the Session answers through
its Transport. Received bytes go straight into the session's own buffer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from duolog.ports.disk import File


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes of a file to send, without reading them into Python if the socket allows."""

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
        """Address of the other side without its port."""
        ...

    @property
    def identity(self) -> str | None:
        """Identity in the peer's certificate; None without one."""
        ...

    def send(self, data: bytes) -> None:
        """Sends bytes alone, as nearly every answer is; otherwise as `write`."""
        ...

    def write(self, chunks: Sequence[Chunk]) -> None:
        """Sends in order. Bytes that the socket does not take now are queued; see
        `Session.drained`."""
        ...

    @property
    def backlog_bytes(self) -> int:
        """Bytes accepted by `write` that the socket has not taken yet."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Sends what is queued, then closes."""
        ...

    def abort(self) -> None:
        """Closes now."""
        ...


class Session(Protocol):
    def get_buffer(self) -> memoryview:
        """Buffer for the next bytes; never empty."""
        ...

    def received(self, count: int) -> None:
        """Notes that `count` bytes were put at the start of the buffer last asked for."""
        ...

    def drained(self) -> None:
        """Notes that the transport's backlog has become empty again."""
        ...

    def closed(self) -> None:
        """Notes that the connection is gone: end of stream, error, or our own close. Called
        once."""
        ...
