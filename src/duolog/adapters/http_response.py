"""Encodes an HTTP answer."""

from http import HTTPStatus

from duolog.ports.http import Response, header_lines

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_BODILESS = (204, 304)

_TEXT = ((b"Content-Type", b"text/plain; charset=utf-8"),)


def refusal(status: int, reason: str) -> Response:
    """Answer by the server itself to a request that no handler answered."""
    return Response(status, _TEXT, f"{reason}\n".encode())


def encode(
    response: Response, date_header: bytes, *, keep_alive: bool = True, is_head: bool = False
) -> bytes:
    """The answer as bytes; `is_head` announces the length of the body but omits it."""
    status, headers, body = response.status, response.headers, response.body
    lines: bytes = headers if isinstance(headers, bytes) else header_lines(headers)
    if not keep_alive:
        lines += b"Connection: close\r\n"
    if status in _BODILESS:
        return b"%b%b%b\r\n" % (_STATUS_LINES[status], date_header, lines)
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    # Joined, not formatted: a body is copied once, whatever its size.
    return b"".join((_STATUS_LINES[status], date_header, lines, length, b"" if is_head else body))
