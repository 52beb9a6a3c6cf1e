import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.adapters.etcd.answer import HEAD_BYTES_MAX, AnswerReader
from duolog.adapters.etcd.failures import AnswerTooLarge, NoAnswer

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
    b"3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"
)


@pytest.mark.parametrize(("answer", "status"), [(PLAIN, 200), (CHUNKED, 404)])
@given(size=st.integers(1, 50))
def test_an_answer_is_read_in_pieces_of_any_size(answer, status, size):
    reader = AnswerReader()
    for at in range(0, len(answer), size):
        assert not reader.is_complete
        reader.feed(answer[at : at + size])
    assert (reader.status, reader.take_body()) == (status, b"hello")
    assert reader.is_complete
    assert reader.keeps_connection


def test_an_answer_that_ends_the_connection_says_so():
    reader = AnswerReader()
    reader.feed(PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert reader.is_complete
    assert not reader.keeps_connection


def test_an_announcement_is_not_the_answer():
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert not reader.is_complete
    reader.feed(PLAIN)
    assert (reader.status, reader.is_complete) == (200, True)


def test_lines_are_taken_when_they_are_whole():
    reader = AnswerReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\none\ntw\r\n")
    assert reader.take_lines() == [b"one"]
    reader.feed(b"3\r\no\n\n\r\n")
    assert reader.take_lines() == [b"two"]


def test_memory_is_bounded():
    with pytest.raises(NoAnswer):
        AnswerReader().feed(b"HTTP/1.1 200 OK\r\nX: " + b"y" * HEAD_BYTES_MAX)
    reader = AnswerReader(body_bytes_max=10)
    with pytest.raises(AnswerTooLarge):
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 11)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_none(data):
    reader = AnswerReader()
    try:
        reader.feed(data)
    except NoAnswer:
        return
    assert not reader.is_complete or reader.status is not None
