"""Settings of a topic: Kafka's names, our bounds.

A setting that Kafka has is accepted and takes effect, or is refused with the reason. A setting
whose only honest value is the default says so in `only`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal

from duolog.config.setting import LONG_MAX, Kind, Setting, Value, nearest
from duolog.model.errors import InvalidConfig
from duolog.model.limits import PARTITIONS_PER_TOPIC_MAX

Durability = Literal["fsync", "replicated", "os"]
TimestampType = Literal["CreateTime", "LogAppendTime"]


@dataclass(frozen=True, slots=True)
class TopicConfig:
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    retention_ms: int = 7 * 24 * 3600 * 1000
    """Retention by time; -1 keeps records for ever."""
    retention_bytes: int = -1
    """Retention by size, per partition; -1 is no limit."""
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    async_replicas: int = 0
    unclean_leader_election: bool = False
    autoscale_max_partitions: int = 0
    """Limit up to which the cluster adds partitions; 0 leaves the number to the operator."""
    timestamp_type: TimestampType = "CreateTime"
    timestamp_before_max_ms: int = (1 << 63) - 1
    timestamp_after_max_ms: int = 3_600_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    delete_retention_ms: int = 24 * 3600 * 1000
    min_cleanable_dirty_ratio: float = 0.5
    file_delete_delay_ms: int = 60_000
    durability: Durability = "fsync"


SEGMENT_BYTES_MIN = 16 * 1024
"""Smallest segment. Kafka requires 1 MiB; smaller segments help to try out rolling and
retention."""

_FIELD_DEFAULTS = {field.name: field.default for field in fields(TopicConfig)}


def _kept(name: str, field: str, kind: Kind, doc: str, **more: Any) -> Setting:
    """A setting that is stored in a field of TopicConfig, whose default it takes."""
    default: Any = _FIELD_DEFAULTS[field]
    return Setting(name=name, kind=kind, default=default, doc=doc, field=field, **more)


def _fixed(name: str, kind: Kind, default: Value, only: str) -> Setting:
    """A setting of Kafka's that is accepted at its default only."""
    doc = "Accepted at its default only."
    return Setting(name=name, kind=kind, default=default, doc=doc, only=only)


_STORED_AS_RECEIVED = "batches are stored as the producer compressed them"
_USE_DURABILITY = "use durability to choose when an acknowledged record is on disk"
_NO_TIERS = "there is no tiered storage"
_NO_THROTTLE = "replication is not throttled by replica"

_DECLARED = (
    Setting(
        name="cleanup.policy",
        kind="list",
        default=("delete",),
        choices=("delete", "compact"),
        doc="Removal of old records: `delete` by retention, `compact` keeps the last record of"
        " each key.",
    ),
    _kept(
        "retention.ms",
        "retention_ms",
        "long",
        "Time for which records are kept; -1 is for ever.",
        unit="ms",
        least=-1,
    ),
    _kept(
        "retention.bytes",
        "retention_bytes",
        "long",
        "Size up to which each partition is kept; -1 is no limit.",
        unit="bytes",
        least=-1,
    ),
    _kept(
        "segment.bytes",
        "segment_bytes",
        "int",
        "Size at which a new segment begins. Retention removes whole segments.",
        unit="bytes",
        least=SEGMENT_BYTES_MIN,
    ),
    _kept(
        "segment.ms",
        "segment_ms",
        "long",
        "Age at which a new segment begins.",
        unit="ms",
        least=1,
    ),
    _kept(
        "index.interval.bytes",
        "index_interval_bytes",
        "int",
        "Bytes of log between two entries of the sparse index.",
        unit="bytes",
        least=0,
    ),
    _kept(
        "max.message.bytes",
        "max_message_bytes",
        "int",
        "Largest record batch that is accepted, as compressed.",
        unit="bytes",
        least=0,
    ),
    _kept(
        "min.insync.replicas",
        "min_insync_replicas",
        "int",
        "In-sync replicas that must have a record before acks=all is acknowledged.",
        least=1,
    ),
    _kept(
        "message.timestamp.type",
        "timestamp_type",
        "text",
        "Timestamp of records: the time of creation or of append.",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _kept(
        "message.timestamp.before.max.ms",
        "timestamp_before_max_ms",
        "long",
        "Limit by which a record's timestamp may precede its arrival.",
        unit="ms",
        least=0,
    ),
    _kept(
        "message.timestamp.after.max.ms",
        "timestamp_after_max_ms",
        "long",
        "Limit by which a record's timestamp may be later than its arrival.",
        unit="ms",
        least=0,
    ),
    _kept(
        "min.compaction.lag.ms",
        "min_compaction_lag_ms",
        "long",
        "Age below which a record is never compacted away.",
        unit="ms",
        least=0,
    ),
    _kept(
        "max.compaction.lag.ms",
        "max_compaction_lag_ms",
        "long",
        "Age above which a record is compacted regardless of the dirty ratio.",
        unit="ms",
        least=1,
    ),
    _kept(
        "delete.retention.ms",
        "delete_retention_ms",
        "long",
        "Time for which compaction keeps the tombstone of a deleted key.",
        unit="ms",
        least=0,
    ),
    _kept(
        "min.cleanable.dirty.ratio",
        "min_cleanable_dirty_ratio",
        "double",
        "Share of uncompacted bytes from which a log is compacted.",
        least=0,
        most=1,
    ),
    _kept(
        "file.delete.delay.ms",
        "file_delete_delay_ms",
        "long",
        "Time for which a removed segment stays on disk for its present readers.",
        unit="ms",
        least=0,
    ),
    _kept(
        "unclean.leader.election.enable",
        "unclean_leader_election",
        "bool",
        "Allows a replica that lacks acknowledged records to lead if no other can; those records"
        " are then lost.",
    ),
    _kept(
        "async.replicas",
        "async_replicas",
        "int",
        "Number of each partition's replicas, the last ones, that replicate asynchronously: never"
        " waited for, nor elected. Applies to partitions that are created from then on.",
        least=0,
    ),
    _kept(
        "autoscale.max.partitions",
        "autoscale_max_partitions",
        "int",
        "Limit up to which the cluster adds partitions to an overloaded topic; 0 disables it.",
        least=0,
        most=PARTITIONS_PER_TOPIC_MAX,
    ),
    _kept(
        "durability",
        "durability",
        "text",
        "Point at which a record is acknowledged: `fsync` once it is on disk, `os` once it is in"
        " the leader's page cache, `replicated` once it is in the page caches of all in-sync"
        " replicas, which on a single node is the same as `os`.",
        choices=("fsync", "replicated", "os"),
    ),
    _fixed("compression.type", "text", "producer", _STORED_AS_RECEIVED),
    _fixed("compression.gzip.level", "int", -1, _STORED_AS_RECEIVED),
    _fixed("compression.lz4.level", "int", 9, _STORED_AS_RECEIVED),
    _fixed("compression.zstd.level", "int", 3, _STORED_AS_RECEIVED),
    _fixed("flush.messages", "long", LONG_MAX, _USE_DURABILITY),
    _fixed("flush.ms", "long", LONG_MAX, _USE_DURABILITY),
    _fixed("preallocate", "bool", False, "segments grow as they are written"),
    _fixed(
        "segment.index.bytes",
        "int",
        10 * 1024 * 1024,
        "an index grows with its segment; use index.interval.bytes to make it smaller",
    ),
    _fixed("segment.jitter.ms", "long", 0, "segments roll at segment.ms, without jitter"),
    _fixed("remote.storage.enable", "bool", False, _NO_TIERS),
    _fixed("remote.log.copy.disable", "bool", False, _NO_TIERS),
    _fixed("remote.log.delete.on.disable", "bool", False, _NO_TIERS),
    _fixed("local.retention.ms", "long", -2, _NO_TIERS),
    _fixed("local.retention.bytes", "long", -2, _NO_TIERS),
    _fixed("leader.replication.throttled.replicas", "text", "", _NO_THROTTLE),
    _fixed("follower.replication.throttled.replicas", "text", "", _NO_THROTTLE),
)

TOPIC_SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _DECLARED}

_GONE = {
    "message.format.version": "record batches have one format, as since Kafka 4.0",
    "message.downconversion.enable": "record batches have one format, as since Kafka 4.0",
    "message.timestamp.difference.max.ms": "use message.timestamp.before.max.ms and"
    " message.timestamp.after.max.ms",
}
"""Settings of older Kafka versions, and the advice for each."""


def parse_topic_setting(name: str, text: str) -> Value:
    """The value of one topic setting. Raises InvalidConfig, whose text names the setting."""
    setting = TOPIC_SETTINGS.get(name)
    if setting is None:
        raise InvalidConfig(_unknown(name))
    try:
        return setting.parse(text)
    except ValueError as problem:
        raise InvalidConfig(f"topic setting {name} {problem}") from None


def canonical_overrides(overrides: Mapping[str, str]) -> dict[str, str]:
    """The settings, each in its canonical text."""
    values = {name: parse_topic_setting(name, text) for name, text in overrides.items()}
    return {name: TOPIC_SETTINGS[name].to_text(value) for name, value in values.items()}


def parse_topic_config(
    overrides: Mapping[str, str], defaults: Mapping[str, str] = MappingProxyType({})
) -> TopicConfig:
    """The configuration of a topic with these settings of its own and the node's defaults."""
    values: dict[str, Any] = {}
    for name, text in {**defaults, **overrides}.items():
        value = parse_topic_setting(name, text)
        if name == "cleanup.policy":
            assert isinstance(value, tuple)
            values["cleanup_delete"] = "delete" in value
            values["cleanup_compact"] = "compact" in value
        elif field := TOPIC_SETTINGS[name].field:
            values[field] = value
    config = TopicConfig(**values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise InvalidConfig(
            f"topic setting min.compaction.lag.ms is {config.min_compaction_lag_ms} but must not"
            f" exceed max.compaction.lag.ms, which is {config.max_compaction_lag_ms}"
        )
    return config


def _unknown(name: str) -> str:
    if reason := _GONE.get(name):
        return f"there is no topic setting {name} any more: {reason}"
    meant = nearest(name, TOPIC_SETTINGS)
    return f"there is no topic setting '{name}'" + (f"; did you mean {meant}?" if meant else "")
