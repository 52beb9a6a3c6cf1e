"""Sealed segments are read without a broker, and everything is read once all the same."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrameReader
from tests.harness.node import Node
from tests.spark.conftest import Produce

from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import full_schema
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.source import reading
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.fetch_connection import FetchConnection
from pyspark_duolog.source.options import SourceOptions, read_options
from pyspark_duolog.source.planning import Range
from pyspark_duolog.source.reading import RangeReader

RECORDS = 5_000


@pytest.fixture
def many(new_topic: Callable[..., str], produce: Produce, node: Node) -> str:
    """A topic of several segments, one of them active."""
    topic = new_topic(partitions=1, segment_bytes="16384")
    produce(topic, RECORDS, partitions=1, batch=50)
    assert len(node.segments(topic)) >= 3
    return topic


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The offsets that brokers are asked for."""
    offsets: list[int] = []

    class Watched(FetchConnection):
        def send(self, topic_id: object, partition: int, offset: int, bytes_max: int) -> None:
            offsets.append(offset)
            super().send(topic_id, partition, offset, bytes_max)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "FetchConnection", Watched)
    return offsets


def options_of(node: Node, topic: str, directory: Path) -> SourceOptions:
    return read_options(
        {
            "kafka.bootstrap.servers": node.kafka,
            "subscribe": topic,
            "readMode": "segments",
            "dataDirectory": str(directory),
            "fetchBytesMax": "5000",
        }
    )


def read(options: SourceOptions, topic: str, first_offset: int = 0) -> list[int]:
    state = Brokers(options).see()[topic]
    wanted = Range(topic, state.id, 0, first_offset, state.partitions[0].end_offset)
    batches = RangeReader(options, wanted, arrow_schema(full_schema(False))).read()
    return [offset for batch in batches for offset in batch["offset"].to_pylist()]


def base_offsets(node: Node, topic: str) -> list[int]:
    return [int(path.stem) for path in node.segments(topic)]


@pytest.mark.parametrize("first_offset", [0, 7, 1234, 4990])
def test_brokers_are_asked_only_for_what_is_not_sealed(
    node: Node, many: str, asked: list[int], first_offset: int
) -> None:
    options = options_of(node, many, node.data)
    assert read(options, many, first_offset) == list(range(first_offset, RECORDS))
    assert asked[0] == max(first_offset, base_offsets(node, many)[-1])


def test_a_copy_that_lacks_a_segment_or_a_part_of_one_leaves_no_gap(
    node: Node, many: str, asked: list[int], tmp_path: Path
) -> None:
    bases = base_offsets(node, many)
    for harm in ("missing", "short", "damaged"):
        asked.clear()
        copy = tmp_path / harm / f"{many}-0"
        shutil.copytree(node.partition_directory(many), copy)
        harmed = copy / f"{bases[1]:020d}.log"
        data = bytearray(harmed.read_bytes())
        if harm == "missing":
            harmed.unlink()
        elif harm == "short":
            harmed.write_bytes(data[: len(data) // 2])
        else:
            data[len(data) // 2] ^= 1
            harmed.write_bytes(data)
        assert read(options_of(node, many, copy.parent), many) == list(range(RECORDS)), harm
        assert bases[1] <= asked[0] < bases[2]


def test_an_index_that_lies_is_not_believed(node: Node, many: str, tmp_path: Path) -> None:
    copy = tmp_path / f"{many}-0"
    shutil.copytree(node.partition_directory(many), copy)
    for index in copy.glob("*.index"):
        index.write_bytes(bytes(4) + (9_000).to_bytes(4, "big"))
    assert read(options_of(node, many, tmp_path), many, 5) == list(range(5, RECORDS))


def test_the_segments_of_a_topic_that_had_the_name_before_are_not_read(
    node: Node, many: str, asked: list[int], tmp_path: Path
) -> None:
    copy = tmp_path / f"{many}-0"
    shutil.copytree(node.partition_directory(many), copy)
    (marker,) = copy.glob("topic-id.*")
    marker.rename(copy / "topic-id.00000000-0000-0000-0000-000000000005")
    assert read(options_of(node, many, tmp_path), many) == list(range(RECORDS))
    assert asked[0] == 0


def test_what_the_leader_does_not_have_is_not_read(
    node: Node, many: str, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Brokers, "epoch_end", lambda self, wanted, epoch: 700)
    assert read(options_of(node, many, node.data), many) == list(range(RECORDS))
    assert 0 < asked[0] <= 700


def test_a_directory_that_is_not_there_is_an_error(node: Node, many: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="there is no data directory"):
        read(options_of(node, many, tmp_path / "elsewhere"), many)


def test_spark_reads_segments(batch: DataFrameReader, node: Node, many: str) -> None:
    reader = batch.option("subscribe", many).option("readMode", "segments")
    frame = reader.option("dataDirectory", str(node.data)).option("minPartitions", "3").load()
    row = frame.selectExpr("count(*)", "count(DISTINCT offset)", "max(offset)").first()
    assert row is not None
    assert tuple(row) == (RECORDS, RECORDS, RECORDS - 1)
