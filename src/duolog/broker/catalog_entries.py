"""Entries of topics and partition states in the metadata store: keys and encoding.

    catalog/topics/<folded name>            id, name, partition count, configuration
    catalog/partitions/<topic id>/<index>   leader, leader epoch, replicas, in-sync set

A partition's state is an entry of its own, so that electing a leader or shrinking an in-sync
set is a transaction on that entry's mod-revision alone. It is filed under the topic's id: a
change that was meant for a deleted topic can never touch its namesake. Pure: no clock, no IO.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from duolog.config.topic import TopicConfig, parse_topic_config
from duolog.model.names import fold, is_internal
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.ports.metastore import Entry

CATALOG_PREFIX = "catalog/"
TOPICS_PREFIX = CATALOG_PREFIX + "topics/"
_PARTITIONS_PREFIX = CATALOG_PREFIX + "partitions/"


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    id: uuid.UUID
    partitions: int
    overrides: Mapping[str, str]
    """Settings given for this topic, in canonical text form."""
    config: TopicConfig
    """Effective configuration: the overrides on top of the node's defaults."""
    internal: bool
    mod_revision: int
    """Mod-revision of the topic's entry, compared by every transaction that changes it."""
    beside: uuid.UUID | None = None
    """For a queue's journal: id of the topic whose partitions it accompanies. Partition i of both
    has the same replicas and the same leader; they move together."""
    open_limit: int | None = None
    """For a queue's topic: only the first `open_limit` partitions are open, which means that they
    take messages sent to the queue. The others keep older messages, and take those of Kafka
    producers. None: all partitions are open."""
    retired: tuple[int, ...] = ()
    """Partitions that are neither open nor have messages; receivers do not ask them."""
    factor: int | None = None
    """Replicas per partition once there are enough brokers. Set if the topic was created without
    a number while there were fewer brokers than the default factor."""

    @property
    def open_partition_count(self) -> int:
        return self.partitions if self.open_limit is None else min(self.open_limit, self.partitions)


# Stores hold the old name: with another one, every partition of a queue would open again.
class _TopicValue(msgspec.Struct, frozen=True, omit_defaults=True, rename={"open_limit": "taking"}):
    name: str
    id: uuid.UUID
    partitions: int
    overrides: dict[str, str]
    beside: uuid.UUID | None = None
    open_limit: int | None = None
    retired: tuple[int, ...] = ()
    factor: int | None = None


_topic_decoder = msgspec.json.Decoder(_TopicValue)
_state_decoder = msgspec.json.Decoder(PartitionState)


def topic_key(name: str) -> str:
    """Key of a topic's entry. Colliding names share a key, so the store admits only one."""
    return TOPICS_PREFIX + fold(name)


def is_topic_key(key: str) -> bool:
    return key.startswith(TOPICS_PREFIX)


def partition_key(topic_id: uuid.UUID, index: int) -> str:
    return f"{_PARTITIONS_PREFIX}{topic_id}/{index}"


def parse_partition_key(key: str) -> tuple[uuid.UUID, int]:
    topic_id, _, index = key.removeprefix(_PARTITIONS_PREFIX).partition("/")
    return uuid.UUID(topic_id), int(index)


def encode_topic(topic: Topic) -> bytes:
    return msgspec.json.encode(
        _TopicValue(
            topic.name,
            topic.id,
            topic.partitions,
            dict(topic.overrides),
            topic.beside,
            topic.open_limit,
            topic.retired,
            topic.factor,
        )
    )


def decode_topic(entry: Entry, defaults: Mapping[str, str]) -> Topic:
    value = _topic_decoder.decode(entry.value)
    return Topic(
        name=value.name,
        id=value.id,
        partitions=value.partitions,
        overrides=value.overrides,
        config=parse_topic_config(value.overrides, defaults),
        internal=is_internal(value.name),
        mod_revision=entry.mod_revision,
        beside=value.beside,
        open_limit=value.open_limit,
        retired=value.retired,
        factor=value.factor,
    )


def stored_name(value: bytes) -> str:
    return _topic_decoder.decode(value).name


def stored_id(value: bytes) -> uuid.UUID:
    return _topic_decoder.decode(value).id


def encode_state(state: PartitionState) -> bytes:
    return msgspec.json.encode(state)


def decode_state(entry: Entry) -> PartitionEntry:
    return PartitionEntry(_state_decoder.decode(entry.value), entry.mod_revision)
