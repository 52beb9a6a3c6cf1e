from datetime import UTC, datetime

import pyarrow as pa
import pytest

from duolog.client.partitioner import partition_of
from pyspark_duolog.codec.arrays import HEADERS_TYPE, TIMESTAMP_TYPE
from pyspark_duolog.errors import ConnectorError
from pyspark_duolog.sink.routing import Routed, routed

PARTITIONS = {"orders": 4, "bills": 2}


def route(
    columns: dict[str, pa.Array], topic: str | None = "orders", turn: int = 0
) -> list[Routed]:
    batch = pa.RecordBatch.from_pydict(columns)
    return list(routed(batch, topic, PARTITIONS.__getitem__, turn=turn, now_ms=77))


def placed(found: list[Routed]) -> dict[object, tuple[str, int]]:
    """Where each value went."""
    return {
        value: (each.topic, each.partition)
        for each in found
        for value in each.rows.value.to_pylist()
    }


NAMELESS = pa.array([None, None, [{"key": None, "value": b"x"}], None], HEADERS_TYPE)
VALUES = pa.array([b"a", b"b", b"c", b"d"], pa.binary())


def test_rows_without_a_key_go_together_and_partitions_take_turns() -> None:
    for turn in range(6):
        (only,) = route({"value": VALUES}, turn=turn)
        assert only.partition == turn % 4
        assert only.rows.value.to_pylist() == VALUES.to_pylist()


def test_a_key_goes_where_the_java_client_sends_it() -> None:
    keys = ["k1", "k2", None, "k1"]
    found = placed(route({"key": pa.array(keys), "value": VALUES}, turn=3))
    expected = [3 if key is None else partition_of(key.encode(), 4) for key in keys]
    assert [found[value][1] for value in VALUES.to_pylist()] == expected


def test_a_row_may_name_its_partition_and_its_topic() -> None:
    columns = {
        "value": VALUES,
        "partition": pa.array([1, 0, None, 1], pa.int32()),
        "topic": pa.array(["bills", None, "orders", "orders"]),
    }
    assert placed(route(columns, turn=2)) == {
        b"a": ("bills", 1),
        b"b": ("orders", 0),
        b"c": ("orders", 2),
        b"d": ("orders", 1),
    }


def test_a_time_is_that_of_the_row_or_of_the_write() -> None:
    moments = pa.array([datetime(2026, 1, 1, tzinfo=UTC), None, None, None], TIMESTAMP_TYPE)
    (only,) = route({"value": VALUES, "timestamp": moments})
    assert only.rows.timestamp_ms.tolist() == [1_767_225_600_000, 77, 77, 77]


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        ({"value": VALUES}, None, "rows have no topic"),
        ({"value": VALUES, "topic": pa.array(["bills", None, None, None])}, None, "no topic"),
        ({"value": VALUES, "partition": pa.array([0, 4, 0, 0])}, "orders", "partition 4 of topic"),
        ({"value": VALUES, "headers": NAMELESS}, "orders", "a header of a row has no name"),
    ],
)
def test_a_row_that_can_go_nowhere_is_refused(
    columns: dict[str, pa.Array], topic: str | None, said: str
) -> None:
    with pytest.raises(ConnectorError, match=said):
        route(columns, topic)
