"""An HTTP answer as bytes."""

from http import HTTPStatus

from duolog.ports.http import Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_BODILESS = (204, 304)

_TEXT = ((b"Content-Type", b"text/plain; charset=utf-8"),)


def refusal(status: int, reason: str) -> Response:
    """An answer by the server itself, about a request that no handler answered."""
    return Response(status, _TEXT, f"{reason}\n".encode())


def encode(response: Response, date_header: bytes, *, keep_alive: bool, is_head: bool) -> bytes:
    """`is_head`: the answer tells the length of the body and goes without it."""
    status_line = _STATUS_LINES[response.status]
    lines = b"".join([b"%b: %b\r\n" % header for header in response.headers])
    # A line break that came in with a value would let a client write headers, or an answer.
    count = len(response.headers)
    assert lines.count(b"\n") == count, "a header holds a line break"
    assert lines.count(b"\r") == count, "a header holds a line break"
    end = b"\r\n" if keep_alive else b"Connection: close\r\n\r\n"
    if response.status in _BODILESS:
        return b"".join((status_line, date_header, lines, end))
    length = b"Content-Length: %d\r\n" % len(response.body)
    body = b"" if is_head else response.body
    return b"".join((status_line, date_header, lines, length, end, body))
