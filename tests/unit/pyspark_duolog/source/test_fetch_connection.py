import socket
from collections.abc import Callable, Iterator
from struct import Struct
from struct import error as StructError
from threading import Thread
from time import sleep
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.errors import Refused, Unreachable
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedMessage
from duolog.wire.kafka.messages import encode_response
from pyspark_duolog.source import fetch_connection
from pyspark_duolog.source.fetch_connection import FETCH_VERSION, FetchConnection, parse_answer

INT64 = st.integers(-1, (1 << 63) - 1)


def response(partitions: int = 1, top_error: int = 0, **fields: Any) -> memoryview:
    partition = {
        "partition_index": 3,
        "error_code": 0,
        "high_watermark": 0,
        "last_stable_offset": -1,
        "log_start_offset": 0,
        "aborted_transactions": None,
        "preferred_read_replica": -1,
        "records": b"",
    }
    topic = {"topic_id": UUID(int=5), "partitions": [partition | fields] * partitions}
    whole = {"throttle_time": 0, "error_code": top_error, "session_id": 0, "responses": [topic]}
    return memoryview(encode_response(ApiKey.FETCH, FETCH_VERSION, whole))


@given(
    high_watermark=INT64,
    aborted=st.none() | st.lists(INT64, max_size=3),
    records=st.binary(max_size=300),
)
def test_an_answer_is_read_as_its_schema_says(
    high_watermark: int, aborted: list[int] | None, records: bytes
) -> None:
    transactions = aborted and [{"producer_id": 1, "first_offset": each} for each in aborted]
    body = response(
        high_watermark=high_watermark,
        aborted_transactions=transactions,
        records=records,
    )
    answer = parse_answer(body, 0)
    assert answer[:2] == (None, high_watermark)
    assert bytes(answer.batches) == records


@pytest.mark.parametrize(
    ("code", "name"), [(1, "OFFSET_OUT_OF_RANGE"), (100, "UNKNOWN_TOPIC_ID"), (-1, "error -1")]
)
def test_a_refusal_has_a_name(code: int, name: str) -> None:
    assert parse_answer(response(error_code=code), 0).error == name
    with pytest.raises(Refused, match=name):
        parse_answer(response(top_error=code), 0)


def test_an_answer_that_is_cut_off_or_about_others_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        parse_answer(response(partitions=2), 0)
    body = response(records=b"x" * 200)
    for size in range(0, len(body), 7):
        with pytest.raises((MalformedMessage, IndexError, StructError)):
            parse_answer(body[:size], 0)


SILENCE_SECONDS_MAX = 1.5


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(fetch_connection, "ANSWER_SECONDS_MAX", SILENCE_SECONDS_MAX)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def answer_in_pieces(
    listener: socket.socket, frame: bytes, pieces: int, pause: float, *, is_whole: bool = True
) -> Thread:
    def run() -> None:
        with listener.accept()[0] as peer:
            peer.recv(1 << 16)
            data = Struct(">i").pack(len(frame)) + frame
            size = len(data) // pieces + 1
            for at in range(0, len(data) if is_whole else size, size):
                peer.sendall(data[at : at + size])
                sleep(pause)

    thread = Thread(target=run)
    thread.start()
    return thread


def ignore(records: memoryview, count: int) -> None:
    """Of what has come so far."""


def fetched(listener: socket.socket, came: Callable[[memoryview, int], None] = ignore) -> bytes:
    connection = FetchConnection(listener.getsockname(), client_id="test")
    try:
        connection.send(UUID(int=5), 3, 0, 1 << 20)
        return bytes(connection.receive(came).batches)
    finally:
        connection.close()


def framed(records: bytes) -> bytes:
    """A response to the first request of a connection."""
    return Struct(">i").pack(1) + b"\0" + bytes(response(records=records))


def test_a_broker_that_is_slow_but_speaks_is_listened_to(listener: socket.socket) -> None:
    records = bytes(100_000)
    pieces = 8
    answering = answer_in_pieces(listener, framed(records), pieces, SILENCE_SECONDS_MAX / 5)
    assert fetched(listener) == records
    answering.join()


def test_records_are_told_of_while_they_arrive(listener: socket.socket) -> None:
    records = bytes(range(250)) * 400
    heard: list[bytes] = []
    answering = answer_in_pieces(listener, framed(records), 4, SILENCE_SECONDS_MAX / 2)

    def came(there: memoryview, count: int) -> None:
        heard.append(bytes(there[:count]))

    assert fetched(listener, came) == records
    answering.join()
    assert len(heard) > 1
    assert all(records.startswith(each) for each in heard)
    assert heard[-1] == records


def test_a_broker_that_says_nothing_more_is_given_up(listener: socket.socket) -> None:
    pause = 3 * SILENCE_SECONDS_MAX
    answering = answer_in_pieces(listener, framed(bytes(100_000)), 2, pause, is_whole=False)
    with pytest.raises(Unreachable, match="timed out"):
        fetched(listener)
    answering.join()


def test_a_broker_that_goes_in_the_middle_of_an_answer_is_noticed(listener: socket.socket) -> None:
    answering = answer_in_pieces(listener, framed(bytes(100_000)), 2, 0, is_whole=False)
    with pytest.raises(Unreachable, match="closed the connection"):
        fetched(listener)
    answering.join()
