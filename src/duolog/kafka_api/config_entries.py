"""Settings in the form of the Kafka protocol, with their sources and documentation."""

from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

from duolog.broker.catalog import Topic
from duolog.config.node import TOPIC_PREFIX
from duolog.config.setting import Kind, Setting
from duolog.config.settings import Settings
from duolog.config.topic import TOPIC_SETTINGS


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4


class Source(IntEnum):
    """Origin of a setting's value, numbered as in the protocol."""

    TOPIC = 1
    NODE = 4
    DEFAULT = 5


_TYPES: dict[Kind, int] = {
    "bool": 1,
    "text": 2,
    "path": 2,
    "address": 2,
    "int": 3,
    "long": 5,
    "double": 6,
    "list": 7,
}

_KAFKA_NAMES = {
    "broker.id": "node.id",
    "broker.rack": "node.rack",
    "log.dirs": "data.dir",
    "message.max.bytes": "topic.max.message.bytes",
    "min.insync.replicas": "topic.min.insync.replicas",
    "compression.type": "topic.compression.type",
    "compression.gzip.level": "topic.compression.gzip.level",
    "compression.lz4.level": "topic.compression.lz4.level",
    "compression.zstd.level": "topic.compression.zstd.level",
    "log.cleaner.delete.retention.ms": "topic.delete.retention.ms",
    "log.cleaner.max.compaction.lag.ms": "topic.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio": "topic.min.cleanable.dirty.ratio",
    "log.cleaner.min.compaction.lag.ms": "topic.min.compaction.lag.ms",
    "log.cleanup.policy": "topic.cleanup.policy",
    "log.flush.interval.messages": "topic.flush.messages",
    "log.flush.interval.ms": "topic.flush.ms",
    "log.index.interval.bytes": "topic.index.interval.bytes",
    "log.index.size.max.bytes": "topic.segment.index.bytes",
    "log.local.retention.bytes": "topic.local.retention.bytes",
    "log.local.retention.ms": "topic.local.retention.ms",
    "log.message.timestamp.after.max.ms": "topic.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms": "topic.message.timestamp.before.max.ms",
    "log.message.timestamp.type": "topic.message.timestamp.type",
    "log.preallocate": "topic.preallocate",
    "log.retention.bytes": "topic.retention.bytes",
    "log.retention.ms": "topic.retention.ms",
    "log.roll.jitter.ms": "topic.segment.jitter.ms",
    "log.roll.ms": "topic.segment.ms",
    "log.segment.bytes": "topic.segment.bytes",
    "log.segment.delete.delay.ms": "topic.file.delete.delay.ms",
    "unclean.leader.election.enable": "topic.unclean.leader.election.enable",
}
"""Kafka's names of broker settings that consoles ask for, with ours."""

_NAMES_IN_KAFKA = {name: kafka_name for kafka_name, name in _KAFKA_NAMES.items()}


def topic_entries(topic: Topic, settings: Settings) -> list[dict[str, Any]]:
    """Every setting of the topic: its own value, else the node's, else the built-in one."""
    return [_topic_entry(topic, setting, settings) for setting in TOPIC_SETTINGS.values()]


def node_entries(settings: Settings) -> Iterator[dict[str, Any]]:
    for name in settings.declared:
        yield _node_entry(name, name, settings)
    for kafka_name, name in _KAFKA_NAMES.items():
        yield _node_entry(kafka_name, name, settings)


def _topic_entry(topic: Topic, setting: Setting, settings: Settings) -> dict[str, Any]:
    name = TOPIC_PREFIX + setting.name
    values = _node_values(_NAMES_IN_KAFKA.get(name, name), name, settings)
    if setting.name in topic.overrides:
        values.insert(0, _value(setting.name, topic.overrides[setting.name], Source.TOPIC))
    # A setting with only one possible value is shown as read-only.
    return _entry(setting.name, values, setting, read_only=bool(setting.only))


def _node_entry(shown_as: str, name: str, settings: Settings) -> dict[str, Any]:
    setting = settings.declared[name]
    # Read-only, because a node reads its settings only when it starts.
    return _entry(shown_as, _node_values(shown_as, name, settings), setting, read_only=True)


def _node_values(shown_as: str, name: str, settings: Settings) -> list[dict[str, Any]]:
    setting = settings.declared[name]
    values = [_value(shown_as, _shown(setting, setting.default_text), Source.DEFAULT)]
    if settings.source(name) != "default":
        values.insert(0, _value(shown_as, _shown(setting, settings.text(name)), Source.NODE))
    return values


def _shown(setting: Setting, text: str) -> str | None:
    """The value as shown: secrets hidden, paths absolute, as clients do not know the node's working
    directory."""
    if setting.secret:
        return None
    return str(Path(text).absolute()) if setting.kind == "path" else text


def _value(name: str, text: str | None, source: Source) -> dict[str, Any]:
    return {"name": name, "value": text, "source": int(source)}


def _entry(
    name: str, values: list[dict[str, Any]], setting: Setting, *, read_only: bool
) -> dict[str, Any]:
    """One setting's description; `values` holds every source's value, the one in force first."""
    return {
        "name": name,
        "value": values[0]["value"],
        "read_only": read_only,
        "config_source": values[0]["source"],
        "is_sensitive": setting.secret,
        "synonyms": values,
        "config_type": _TYPES[setting.kind],
        "documentation": setting.doc,
    }
