"""Gathers the frames of one turn of the event loop, so that they leave with one write."""

from collections.abc import Callable, Sequence

from duolog.ports.transport import Chunk, FileRange, Transport

CallSoon = Callable[[Callable[[], None]], object]

GATHERED_BYTES_MAX = 256 * 1024
"""Limit of gathered bytes; more is written at once, because the transport's backlog, on which
back-pressure depends, would not show it."""


class Outbox:
    __slots__ = ("_bytes", "_call_soon", "_chunks", "_has_files", "_transport")

    def __init__(self, transport: Transport, call_soon: CallSoon) -> None:
        self._transport = transport
        self._call_soon = call_soon
        self._chunks: list[Chunk] = []
        self._bytes = 0
        self._has_files = False

    def add(self, chunks: Sequence[Chunk]) -> None:
        if not self._chunks:
            self._call_soon(self.flush)
        self._chunks += chunks
        for chunk in chunks:
            if isinstance(chunk, FileRange):
                self._bytes += chunk.length
                self._has_files = True
            else:
                self._bytes += len(chunk)
        if self._bytes > GATHERED_BYTES_MAX:
            self.flush()

    def flush(self) -> None:
        """Writes what was gathered, now. A closed transport ignores it."""
        chunks = self._chunks
        if not chunks:
            return
        # Small frames are joined, so that the socket gets one buffer.
        is_joined = not self._has_files and self._bytes <= GATHERED_BYTES_MAX
        self._chunks = []
        self._bytes = 0
        self._has_files = False
        if is_joined:
            self._transport.send(b"".join(chunks))  # type: ignore[arg-type]
        else:
            self._transport.write(chunks)
