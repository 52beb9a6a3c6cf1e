"""Reads the answer to one request: its status, and when the connection is free again. No IO.

Nothing else of an answer is of interest, so nothing else is kept, and all of it is bounded.
"""

import httptools

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 64 * 1024
"""A longer body is not read to its end: a new connection is cheaper."""


class BadAnswer(Exception):
    """What came is no answer, or none that is taken."""


class AnswerReader:
    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._fed_bytes = 0
        self._ended = False
        self._surplus = False
        self.status: int | None = None
        """None until the head is complete."""
        self.is_over = False
        """Whether the rest of the answer, if there is any, is not worth waiting for."""

    @property
    def has_begun(self) -> bool:
        return self._fed_bytes > 0

    @property
    def is_complete(self) -> bool:
        """Whether the answer ended where it should, on a connection that goes on."""
        return self._ended and not self.is_over

    def feed(self, data: bytes) -> None:
        """Raises BadAnswer, unless the status is known: what is wrong then does not matter."""
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
        """Nothing is fed any more. Reader and parser refer to each other, and the garbage
        collector would come late for so many of them."""
        del self._parser

    # Called by the parser.

    def on_message_begin(self) -> None:
        # Of answers that nobody asked for, the next request must not get one.
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
