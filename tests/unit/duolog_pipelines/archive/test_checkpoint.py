import json
from pathlib import Path

import pytest

from duolog_pipelines.archive.checkpoint import Checkpoint, Gap, gaps
from duolog_pipelines.errors import PipelineError
from pyspark_duolog.source.offsets import TopicOffsets


def test_only_what_lies_between_two_batches_of_the_same_topic_is_a_gap() -> None:
    before = {
        "a": TopicOffsets("1", {0: 5, 1: 7}, {}),
        "b": TopicOffsets("2", {0: 9}, {}),
    }
    after = {
        "a": TopicOffsets("1", {0: 9, 1: 9, 2: 4}, {0: 8, 2: 0}),
        "b": TopicOffsets("3", {0: 4}, {0: 2}),
        "c": TopicOffsets("4", {0: 4}, {0: 3}),
    }
    assert gaps(before, after) == [Gap("a", "1", 0, 5, 8)]


def test_what_spark_wrote_down_is_read(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert not checkpoint.exists
    assert checkpoint.last_offsets() == {}
    (tmp_path / "metadata").write_text('{"id":"some-query"}')
    (tmp_path / "offsets").mkdir()
    offsets = {"version": 1, "topics": {"a": {"id": "1", "next": {"0": 5}}}}
    for batch in (9, 10):
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(offsets)}")
    (tmp_path / "offsets" / ".10.crc").write_text("")
    assert checkpoint.query_id == "some-query"
    assert checkpoint.last_offsets() == {"a": TopicOffsets("1", {0: 5}, {})}
    assert checkpoint.offsets(8) == {}
    (tmp_path / "offsets" / "11").write_text("v2\n{}\n{}")
    with pytest.raises(PipelineError, match="not in the format of this Spark"):
        checkpoint.offsets(11)
