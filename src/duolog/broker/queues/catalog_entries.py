"""What the metadata store holds about queues, and how it is written there.

    queues/<folded name>    id, name, attributes, tags, and when things happened to it

A deleted queue leaves its entry behind until everything of it is removed and its name may be
used again, so that a crash in between forgets nothing. Pure: no clock, no IO.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from duolog.config.queue import QueueConfig, parse_queue_config
from duolog.model.names import fold
from duolog.ports.metastore import Entry

QUEUES_PREFIX = "queues/"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    name: str
    id: uuid.UUID
    """New for each creation: what was meant for a deleted queue never touches its namesake."""
    attributes: Mapping[str, str]
    """Those that it was given, each in the one way in which it is written."""
    config: QueueConfig
    """The attributes and, where they say nothing, the defaults."""
    tags: Mapping[str, str]
    created_ms: int
    modified_ms: int
    """When the attributes last changed."""
    topic_id: uuid.UUID | None = None
    """Of the topic that goes with the queue; None for one that reads another's messages."""
    purged_ms: int | None = None
    """When the queue was last purged, if ever."""
    deleted_ms: int | None = None
    """When the queue was deleted; None for one that is there."""
    mod_revision: int = 0
    """Of the entry in the store; a transaction that changes it compares this."""

    @property
    def journal_id(self) -> uuid.UUID:
        """Of the topic of its journal: known before that is made, and after it is gone."""
        return uuid.uuid5(self.id, "journal")

    @property
    def is_deleted(self) -> bool:
        return self.deleted_ms is not None


class _QueueValue(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    id: uuid.UUID
    attributes: dict[str, str]
    tags: dict[str, str]
    created_ms: int
    modified_ms: int
    topic_id: uuid.UUID | None = None
    purged_ms: int | None = None
    deleted_ms: int | None = None


_decoder = msgspec.json.Decoder(_QueueValue)


def queue_key(name: str) -> str:
    """Colliding names share a key, so the store itself lets only one of them in."""
    return QUEUES_PREFIX + fold(name)


def encode_queue(queue: QueueEntry) -> bytes:
    return msgspec.json.encode(
        _QueueValue(
            name=queue.name,
            id=queue.id,
            attributes=dict(queue.attributes),
            tags=dict(queue.tags),
            created_ms=queue.created_ms,
            modified_ms=queue.modified_ms,
            topic_id=queue.topic_id,
            purged_ms=queue.purged_ms,
            deleted_ms=queue.deleted_ms,
        )
    )


def decode_queue(entry: Entry) -> QueueEntry:
    value = _decoder.decode(entry.value)
    return QueueEntry(
        name=value.name,
        id=value.id,
        attributes=value.attributes,
        config=parse_queue_config(value.name, value.attributes),
        tags=value.tags,
        created_ms=value.created_ms,
        modified_ms=value.modified_ms,
        topic_id=value.topic_id,
        purged_ms=value.purged_ms,
        deleted_ms=value.deleted_ms,
        mod_revision=entry.mod_revision,
    )
