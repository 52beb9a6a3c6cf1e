"""Reads one HTTP answer of etcd's gateway, whole or as a stream of lines. No IO."""

import httptools

from duolog.adapters.etcd.failures import AnswerTooLarge, NoAnswer

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 32 * 1024 * 1024
"""Limit of one answer, or of one message in a stream. etcd's own messages end at 2 MiB by
default."""


class AnswerReader:
    def __init__(self, body_bytes_max: int = BODY_BYTES_MAX) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body_bytes_max = body_bytes_max
        self._body = bytearray()
        self._fed_bytes = 0
        self.status: int | None = None
        """HTTP status; None until the head is complete."""
        self.is_complete = False
        self.keeps_connection = False
        """True if the next request can use the connection; valid once the answer is complete."""

    def feed(self, data: bytes) -> None:
        """Parses more bytes; raises NoAnswer if they are not HTTP, or too many."""
        self._fed_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserUpgrade, httptools.HttpParserError):
            raise NoAnswer("it does not answer in HTTP/1.1") from None
        if self.status is None and self._fed_bytes > HEAD_BYTES_MAX:
            raise NoAnswer(f"the head of its answer is longer than {HEAD_BYTES_MAX} bytes")
        if len(self._body) > self._body_bytes_max:
            raise AnswerTooLarge(f"its answer is longer than {self._body_bytes_max} bytes")

    def close(self) -> None:
        """Ends the parsing: reader and parser refer to each other, and the garbage collector would
        free their buffers late."""
        del self._parser

    def take_body(self) -> bytes:
        """The part of the body that has arrived and was not taken yet."""
        body = bytes(self._body)
        self._body.clear()
        return body

    def take_lines(self) -> list[bytes]:
        """The complete lines that have arrived."""
        end = self._body.rfind(b"\n") + 1
        lines = bytes(self._body[:end]).splitlines()
        del self._body[:end]
        return [line for line in lines if line]

    # Called by the parser.

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        # "100 Continue" and its like only announce the answer.
        if status >= 200:
            self.status = status

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self.status is not None:
            # A second answer belongs to no request: the connection cannot be trusted any more.
            self.keeps_connection = not self.is_complete and self._parser.should_keep_alive()
            self.is_complete = True
