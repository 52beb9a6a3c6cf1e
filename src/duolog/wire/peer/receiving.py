"""Cuts received bytes into frames, at both ends of a connection.

Small frames, of which one read brings many, go through one buffer; a large one is received straight
into memory of its own, so that its bytes are moved once.
"""

from duolog.wire.peer.frames import (
    FRAME_BYTES_MAX,
    HEADER_BYTES,
    Frame,
    MalformedFrame,
    parse_header,
)

BUFFER_BYTES = 64 * 1024
HELLO_BYTES_MAX = 4 * 1024
"""Limit of a frame before the hello has been verified."""


class FrameReceiver:
    __slots__ = (
        "_buffer",
        "_end",
        "_filled",
        "_frame_bytes_max",
        "_large",
        "_large_header",
        "_start",
        "_view",
    )

    def __init__(self) -> None:
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._frame_bytes_max = HELLO_BYTES_MAX
        self._large: memoryview | None = None
        """Body that is being received into memory of its own; None for none."""
        self._filled = 0
        self._large_header = (0, 0, 0)

    def trust(self) -> None:
        """Allows frames of full size, now that the other side is verified."""
        self._frame_bytes_max = FRAME_BYTES_MAX

    def get_buffer(self) -> memoryview:
        """Buffer for the next bytes. Never empty once `next_frame` has returned None."""
        if self._large is not None:
            return self._large[self._filled :]
        return self._view[self._end :]

    def received(self, count: int) -> None:
        if self._large is not None:
            self._filled += count
        else:
            self._end += count

    def next_frame(self) -> Frame | None:
        """The next whole frame, or None until more is received. Raises MalformedFrame."""
        large = self._large
        if large is not None:
            if self._filled < len(large):
                return None
            self._large = None
            return Frame(*self._large_header, large.toreadonly())
        start, end = self._start, self._end
        if end - start < HEADER_BYTES:
            self._compact()
            return None
        body_bytes, correlation, kind, status = parse_header(self._buffer, start)
        if not 0 <= body_bytes <= self._frame_bytes_max - HEADER_BYTES:
            raise MalformedFrame(f"a frame with a body of {body_bytes} bytes was announced")
        body_at = start + HEADER_BYTES
        frame_end = body_at + body_bytes
        if frame_end > end:
            self._compact()
            if HEADER_BYTES + body_bytes > BUFFER_BYTES:
                self._begin_large(body_bytes, (correlation, kind, status))
            return None
        self._start = frame_end
        body = memoryview(bytes(self._view[body_at:frame_end]))
        return Frame(correlation, kind, status, body)

    def _begin_large(self, body_bytes: int, header: tuple[int, int, int]) -> None:
        self._large = memoryview(bytearray(body_bytes))
        self._large_header = header
        self._filled = self._end - HEADER_BYTES
        self._large[: self._filled] = self._view[HEADER_BYTES : self._end]
        self._start = self._end = 0

    def _compact(self) -> None:
        start, end = self._start, self._end
        if start:
            self._view[: end - start] = self._view[start:end]
            self._start, self._end = 0, end - start
