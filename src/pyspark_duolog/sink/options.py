"""All options of the sink, declared as those of the source are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from duolog.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.option import (
    BOOTSTRAP_SERVERS,
    BROKER_TIMEOUT,
    SECURITY_PROTOCOL,
    Endpoint,
    Option,
    read_positive,
    read_values,
    required,
)

_CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
_STAGED_BESIDE = "duolog-sink"


def _codec(text: str) -> int:
    if text.lower() not in _CODECS:
        raise ValueError(f"is none of {', '.join(_CODECS)}")
    return _CODECS[text.lower()]


def _directory(text: str) -> Path:
    path = Path(text.removeprefix("file:"))
    if not path.is_absolute():
        raise ValueError("is no absolute path of a directory")
    return path


def _write_id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise ValueError("is not of letters, digits, dots, hyphens and underscores")
    return text


SINK_OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        BOOTSTRAP_SERVERS,
        SECURITY_PROTOCOL,
        Option(
            "kafka.compression.type",
            "none",
            _codec,
            "Compression of batches: `none`, `gzip`, `snappy`, `lz4` or `zstd`.",
        ),
        Option(
            "batchBytesMax",
            "900000",
            read_positive,
            "Bytes of records in one batch, before compression, unless a single record is larger. "
            "A topic refuses batches beyond its `max.message.bytes`.",
        ),
        Option("topic", "", str, "Topic of rows that name none."),
        Option(
            "stagingDirectory",
            "",
            _directory,
            "Directory in which tasks stage batches for the driver to send; all of them must see "
            "it. In a stream the default is beside the checkpoint, if that is on a file system.",
        ),
        Option(
            "writeId",
            "",
            _write_id,
            "Name of a batch write: repeated under the same id, with the same stagingDirectory, it "
            "resumes the first one, or does nothing if that is done. Not for streams.",
        ),
        Option(
            "checkpointLocation",
            "",
            str,
            "Spark's own option of a streaming query; here only the default place for staging.",
        ),
        BROKER_TIMEOUT,
    )
}


@dataclass(frozen=True, slots=True)
class SinkOptions:
    bootstrap_servers: tuple[Endpoint, ...]
    compression: int
    batch_bytes_max: int
    topic: str | None
    staging_directory: Path
    write_id: str | None
    broker_timeout_ms: int


def read_sink_options(given: Mapping[str, str]) -> SinkOptions:
    values = read_values(SINK_OPTIONS, given)
    staging = values["stagingDirectory"]
    if staging is None:
        checkpoint = str(values["checkpointLocation"] or "").removeprefix("file:")
        if not checkpoint.startswith("/"):
            raise InvalidOption("the option stagingDirectory is required here")
        staging = Path(checkpoint) / _STAGED_BESIDE
    return SinkOptions(
        bootstrap_servers=required(values, BOOTSTRAP_SERVERS),
        compression=values["kafka.compression.type"],
        batch_bytes_max=values["batchBytesMax"],
        topic=values["topic"],
        staging_directory=staging,
        write_id=values["writeId"],
        broker_timeout_ms=values["brokerTimeoutMs"],
    )
