"""Reads the answer to one request: its status, and when the connection is free again. No IO.

Everything else is discarded, and all of it is bounded.
"""

import httptools

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 64 * 1024
"""Limit up to which a body is read to its end: beyond it a new connection is cheaper."""


class BadAnswer(Exception):
    """Bytes that are not an acceptable answer."""


class AnswerReader:
    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._fed_bytes = 0
        self._ended = False
        self._surplus = False
        self.status: int | None = None
        """HTTP status; None until the head is complete."""
        self.is_over = False
        """True if the rest of the answer, if there is any, is not worth waiting for."""

    @property
    def has_begun(self) -> bool:
        return self._fed_bytes > 0

    @property
    def is_complete(self) -> bool:
        """True if the answer is complete and the connection can be used again."""
        return self._ended and not self.is_over

    def feed(self, data: bytes) -> None:
        """Parses more bytes. Raises BadAnswer, unless the status is known: later errors do not
        matter."""
        self._fed_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise BadAnswer("it switches protocols") from None
        except httptools.HttpParserError:
            if self.status is None:
                raise BadAnswer("it does not answer in HTTP") from None
            self.is_over = True
        if self.status is None:
            if self._fed_bytes > HEAD_BYTES_MAX:
                raise BadAnswer(f"the head of its answer is longer than {HEAD_BYTES_MAX} bytes")
        elif self._surplus or self._fed_bytes > HEAD_BYTES_MAX + BODY_BYTES_MAX:
            self.is_over = True

    def close(self) -> None:
        """Ends the parsing: reader and parser refer to each other, and the garbage collector would
        free so many of them late."""
        del self._parser

    # Called by the parser.

    def on_message_begin(self) -> None:
        # The next request must not receive an unsolicited answer.
        self._surplus = self._ended

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        # "100 Continue" and its like only announce the answer.
        if self.status is None and status >= 200:
            self.status = status

    def on_message_complete(self) -> None:
        if self.status is not None and not self._ended:
            self._ended = True
            if not self._parser.should_keep_alive():
                self.is_over = True
