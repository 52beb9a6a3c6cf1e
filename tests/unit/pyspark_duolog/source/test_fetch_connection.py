from struct import error as StructError
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.client.errors import Refused
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedMessage
from duolog.wire.kafka.messages import encode_response
from pyspark_duolog.source.fetch_connection import FETCH_VERSION, parse_answer

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
