import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from bench.http_line import BadAnswer, Line


@contextmanager
def answered(*pieces: bytes) -> Iterator[Line]:
    """A line to a server that sends these once it was asked, and hangs up."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            for piece in pieces:
                connection.sendall(piece)

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        served = threads.submit(serve)
        with Line(listener.getsockname()) as line:
            yield line
        served.result()


def test_an_answer_in_pieces_is_put_together() -> None:
    with answered(b"HTTP/1.1 200 OK\r\ncontent-", b"LENGTH: 4\r\n\r\nab", b"cd") as line:
        assert line.ask(b"?") == b"abcd"


def test_a_refusal_is_told_with_its_reason() -> None:
    refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 7\r\n\r\nno such"
    with answered(refusal) as line, pytest.raises(BadAnswer, match="no such"):
        line.ask(b"?")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", b"", b"?"])
def test_an_answer_that_breaks_off_is_none(answer: bytes) -> None:
    with answered(answer) as line, pytest.raises(BadAnswer):
        line.ask(b"?")
