"""All options of the source, each declared once with its documentation and parser."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duolog.wire.kafka.special_offsets import EARLIEST, LATEST
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.option import (
    BOOTSTRAP_SERVERS,
    BROKER_TIMEOUT,
    SECURITY_PROTOCOL,
    Endpoint,
    Option,
    read_boolean,
    read_positive,
    read_values,
    required,
)

PartitionOffsets = Mapping[str, Mapping[int, int]]
"""Offsets by topic and partition; EARLIEST and LATEST are allowed, too."""

_NAMED_OFFSETS = {"earliest": EARLIEST, "latest": LATEST}
BROKER = "broker"
SEGMENTS = "segments"


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("is no count of milliseconds since 1970")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not names:
        raise ValueError("names no topic")
    return names


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    return value


def _assigned(text: str) -> Mapping[str, frozenset[int]]:
    assigned = {}
    for topic, partitions in _json_object(text).items():
        if not isinstance(partitions, list) or not all(map(_is_index, partitions)):
            raise ValueError(f"has no list of partitions for topic '{topic}'")
        assigned[topic] = frozenset(partitions)
    if not assigned:
        raise ValueError("names no topic")
    return assigned


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0


def _offsets(text: str) -> int | PartitionOffsets:
    if text.lower() in _NAMED_OFFSETS:
        return _NAMED_OFFSETS[text.lower()]
    offsets: dict[str, dict[int, int]] = {}
    for topic, partitions in _json_object(text).items():
        if not isinstance(partitions, dict):
            raise ValueError(f"has no partitions for topic '{topic}'")
        for partition, offset in partitions.items():
            if not partition.isdigit() or type(offset) is not int or offset < EARLIEST:
                raise ValueError(f"has no offset for partition {partition} of topic '{topic}'")
            offsets.setdefault(topic, {})[int(partition)] = offset
    return offsets


def _read_mode(text: str) -> str:
    if text.lower() not in (BROKER, SEGMENTS):
        raise ValueError(f"is neither {BROKER} nor {SEGMENTS}")
    return text.lower()


def _directories(text: str) -> tuple[Path, ...]:
    directories = tuple(Path(each.strip()) for each in text.split(",") if each.strip())
    if not all(each.is_absolute() for each in directories):
        raise ValueError("is no list of absolute paths")
    return directories


OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        BOOTSTRAP_SERVERS,
        SECURITY_PROTOCOL,
        Option(
            "kafka.group.id",
            "",
            str,
            "Consumer group to which a streaming query commits its progress, so that its lag "
            "shows. It may have no members. Without it nothing is committed.",
        ),
        Option("subscribe", "", _names, "Topics to read, separated by commas."),
        Option(
            "subscribePattern",
            "",
            _pattern,
            "Regular expression that matches whole names of topics to read, including topics "
            "created later; internal topics are never read.",
        ),
        Option("assign", "", _assigned, 'Partitions to read: `{"orders": [0, 1]}`.'),
        Option(
            "startingOffsets",
            "",
            _offsets,
            "Start of a batch, or of a new streaming query: `earliest`, `latest` or offsets, "
            '`{"orders": {"0": 23, "1": -2}}`, where -2 is the earliest and -1 the latest. '
            "Default: `earliest` in a batch, `latest` in a stream. Partitions that are found "
            "later are read from their start.",
        ),
        Option(
            "startingTimestamp",
            "",
            _milliseconds,
            "Start each partition at its first record of this time or later, in milliseconds since "
            "1970, or at its end if there is none. Replaces startingOffsets.",
        ),
        Option(
            "endingOffsets",
            "latest",
            _offsets,
            "End of a batch: `latest`, or offsets as in startingOffsets. Not for streams.",
        ),
        Option(
            "maxOffsetsPerTrigger",
            "",
            read_positive,
            "Limit of offsets per micro-batch, shared among partitions by their backlog.",
        ),
        Option(
            "maxBytesPerTrigger",
            "",
            read_positive,
            "Limit of stored bytes per micro-batch, estimated from the next records of each "
            "partition; at least one offset of each is taken.",
        ),
        Option(
            "minPartitions",
            "",
            read_positive,
            "Minimum number of tasks: ranges of offsets are split until there are as many.",
        ),
        Option(
            "failOnDataLoss",
            "true",
            read_boolean,
            "`true`: fail when records to be read are gone, because retention removed them or "
            "their topic was deleted or recreated; `false`: go on with the remaining ones.",
        ),
        Option("includeHeaders", "false", read_boolean, "`true`: add the column `headers`."),
        Option(
            "readMode",
            BROKER,
            _read_mode,
            "`broker`, or `segments`: read sealed segments from dataDirectory, and only the rest "
            "from brokers.",
        ),
        Option(
            "dataDirectory",
            "",
            _directories,
            "Data directories of nodes, or copies of them, as absolute paths separated by commas; "
            "every task must see them. Partitions found in none are read from brokers.",
        ),
        Option(
            "fetchBytesMax",
            str(16 << 20),
            read_positive,
            "Bytes per fetch from a broker, or per read of a segment; a task buffers about three "
            "times as many.",
        ),
        BROKER_TIMEOUT,
    )
}

_TOPIC_OPTIONS = ("subscribe", "subscribePattern", "assign")


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """A query's options, parsed and checked. The fields are named after the options."""

    bootstrap_servers: tuple[Endpoint, ...]
    group_id: str | None
    subscribe: tuple[str, ...] | None
    subscribe_pattern: re.Pattern[str] | None
    assign: Mapping[str, frozenset[int]] | None
    starting_offsets: int | PartitionOffsets | None
    starting_timestamp: int | None
    ending_offsets: int | PartitionOffsets
    max_offsets_per_trigger: int | None
    max_bytes_per_trigger: int | None
    min_partitions: int | None
    fail_on_data_loss: bool
    include_headers: bool
    data_directory: tuple[Path, ...]
    """Empty unless sealed segments are to be read."""
    fetch_bytes_max: int
    broker_timeout_ms: int


def read_options(given: Mapping[str, str]) -> SourceOptions:
    values = read_values(OPTIONS, given)
    _check_together(values)
    return SourceOptions(
        bootstrap_servers=required(values, BOOTSTRAP_SERVERS),
        group_id=values["kafka.group.id"],
        subscribe=values["subscribe"],
        subscribe_pattern=values["subscribePattern"],
        assign=values["assign"],
        starting_offsets=values["startingOffsets"],
        starting_timestamp=values["startingTimestamp"],
        ending_offsets=values["endingOffsets"],
        max_offsets_per_trigger=values["maxOffsetsPerTrigger"],
        max_bytes_per_trigger=values["maxBytesPerTrigger"],
        min_partitions=values["minPartitions"],
        fail_on_data_loss=values["failOnDataLoss"],
        include_headers=values["includeHeaders"],
        data_directory=values["dataDirectory"] or (),
        fetch_bytes_max=values["fetchBytesMax"],
        broker_timeout_ms=values["brokerTimeoutMs"],
    )


def _check_together(values: Mapping[str, Any]) -> None:
    if sum(values[name] is not None for name in _TOPIC_OPTIONS) != 1:
        raise InvalidOption(f"exactly one of {', '.join(_TOPIC_OPTIONS)} must be given")
    if values["startingOffsets"] is not None and values["startingTimestamp"] is not None:
        raise InvalidOption("startingOffsets and startingTimestamp cannot both be given")
    if (values["readMode"] == SEGMENTS) != bool(values["dataDirectory"]):
        raise InvalidOption("readMode=segments and dataDirectory can only be given together")
    if values["endingOffsets"] == EARLIEST:
        raise InvalidOption("the option endingOffsets cannot be earliest")
