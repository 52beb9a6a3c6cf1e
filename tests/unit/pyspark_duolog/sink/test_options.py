from pathlib import Path

import pytest

from duolog.records.compression import ZSTD
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.sink.options import SinkOptions, read_sink_options

REQUIRED = {"kafka.bootstrap.servers": "a:9092", "stagingDirectory": "/staging"}


def read(**given: str) -> SinkOptions:
    return read_sink_options(REQUIRED | given)


def test_a_stream_stages_beside_its_checkpoint() -> None:
    for location in ("/lake/checkpoint", "file:/lake/checkpoint"):
        given = {"kafka.bootstrap.servers": "a:1", "checkpointLocation": location}
        options = read_sink_options(given)
        assert options.staging_directory == Path("/lake/checkpoint/duolog-sink")


def test_a_codec_is_named_as_in_kafka() -> None:
    assert read(**{"kafka.compression.type": "zstd"}).compression == ZSTD


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka.compression.type": "rar"}, "'rar' is none of none, gzip"),
        ({"stagingDirectory": "staging"}, "no absolute path"),
        ({"subscribe": "orders"}, "there is no option 'subscribe'"),
    ],
)
def test_a_wrong_option_is_refused_with_a_reason(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        read(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"stagingDirectory": "/staging"},
        {"kafka.bootstrap.servers": "a:1"},
        {"kafka.bootstrap.servers": "a:1", "checkpointLocation": "hdfs://lake/checkpoint"},
    ],
)
def test_brokers_and_a_place_to_stage_are_required(given: dict[str, str]) -> None:
    with pytest.raises(InvalidOption, match="is required"):
        read_sink_options(given)
