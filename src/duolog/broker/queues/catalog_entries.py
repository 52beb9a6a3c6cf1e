"""Entries of queues in the metadata store: keys and encoding.

    queues/<folded name>    id, name, attributes, tags, times of changes

A deleted queue keeps its entry until everything of it is removed and its name may be used again,
so that a crash in between forgets nothing. Pure: no clock, no IO.
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
    """Unique per creation, so that changes meant for a deleted queue never touch a namesake."""
    attributes: Mapping[str, str]
    """Attributes given explicitly, in canonical text form."""
    config: QueueConfig
    """Effective configuration: the attributes on top of the defaults."""
    tags: Mapping[str, str]
    created_ms: int
    modified_ms: int
    """Time at which the attributes last changed."""
    topic_id: uuid.UUID | None = None
    """Id of the queue's own topic; None for a subscription queue, which reads another topic."""
    purged_ms: int | None = None
    """Time of the last purge; None if never purged."""
    deleted_ms: int | None = None
    """Time of deletion; None for an existing queue."""
    mod_revision: int = 0
    """Mod-revision of the entry, compared by every transaction that changes it."""

    @property
    def journal_id(self) -> uuid.UUID:
        """Id of the journal's topic, derived, so it is known before the topic is made."""
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
    """Key of a queue's entry. Colliding names share a key, so the store admits only one."""
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
