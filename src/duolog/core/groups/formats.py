"""Codec for records of the offsets topic, in Kafka's own formats so that its tools can read them.

A key starts with its version: 0 and 1 are an offset, 2 is a group. A null value forgets.
"""

from struct import Struct
from struct import error as StructError
from typing import assert_never

from duolog.core.groups.ledger import (
    NO_LEADER_EPOCH,
    CommittedOffset,
    GroupForgotten,
    GroupMetadata,
    GroupRecord,
    MetadataChanged,
    OffsetCommitted,
    OffsetForgotten,
    RecordedMember,
    TopicPartition,
)

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
"""The only version with room for a retention that the client chose."""
GROUP_VALUE_VERSION = 3

_NO_TIMESTAMP = -1
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_OFFSET_AND_EPOCH = Struct(">qi")
_TIMEOUTS = Struct(">ii")


class UnreadableRecord(Exception):
    """Bytes in the offsets topic in none of the known formats."""


def encode(record: GroupRecord) -> tuple[bytes, bytes | None]:
    match record:
        case OffsetCommitted():
            return _offset_key(record.group_id, record.at), _offset_value(record.committed)
        case OffsetForgotten():
            return _offset_key(record.group_id, record.at), None
        case MetadataChanged():
            return _group_key(record.group_id), _group_value(record.metadata)
        case GroupForgotten():
            return _group_key(record.group_id), None
        case _:
            assert_never(record)


def decode(key: bytes, value: bytes | None) -> GroupRecord:
    """Decodes a record; raises UnreadableRecord for damage and for newer versions."""
    try:
        reader = _Reader(key)
        version = reader.int16()
        if version in (0, OFFSET_KEY_VERSION):
            group_id = reader.text()
            at = TopicPartition(reader.text(), reader.int32())
            if value is None:
                return OffsetForgotten(group_id, at)
            return OffsetCommitted(group_id, at, _read_offset(_Reader(value)))
        if version == GROUP_KEY_VERSION:
            group_id = reader.text()
            if value is None:
                return GroupForgotten(group_id)
            return MetadataChanged(group_id, _read_group(_Reader(value)))
    except (StructError, UnicodeDecodeError) as error:
        raise UnreadableRecord(f"cut short or garbled: {error}") from error
    raise UnreadableRecord(f"key version {version}")


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _INT16.pack(len(encoded)) + encoded


def _nullable_text(value: str | None) -> bytes:
    return _INT16.pack(-1) if value is None else _text(value)


def _blob(value: bytes) -> bytes:
    return _INT32.pack(len(value)) + value


def _offset_key(group_id: str, at: TopicPartition) -> bytes:
    return b"".join(
        (
            _INT16.pack(OFFSET_KEY_VERSION),
            _text(group_id),
            _text(at.topic),
            _INT32.pack(at.partition),
        )
    )


def _offset_value(committed: CommittedOffset) -> bytes:
    if committed.expire_timestamp_ms is not None:
        return b"".join(
            (
                _INT16.pack(OFFSET_VALUE_VERSION_WITH_EXPIRY),
                _INT64.pack(committed.offset),
                _text(committed.metadata),
                _INT64.pack(committed.commit_timestamp_ms),
                _INT64.pack(committed.expire_timestamp_ms),
            )
        )
    return b"".join(
        (
            _INT16.pack(OFFSET_VALUE_VERSION),
            _OFFSET_AND_EPOCH.pack(committed.offset, committed.leader_epoch),
            _text(committed.metadata),
            _INT64.pack(committed.commit_timestamp_ms),
        )
    )


def _group_key(group_id: str) -> bytes:
    return _INT16.pack(GROUP_KEY_VERSION) + _text(group_id)


def _group_value(metadata: GroupMetadata) -> bytes:
    since_ms = metadata.state_timestamp_ms
    parts = [
        _INT16.pack(GROUP_VALUE_VERSION),
        _text(metadata.protocol_type),
        _INT32.pack(metadata.generation),
        _nullable_text(metadata.protocol),
        _nullable_text(metadata.leader),
        _INT64.pack(_NO_TIMESTAMP if since_ms is None else since_ms),
        _INT32.pack(len(metadata.members)),
    ]
    for member in metadata.members:
        parts += (
            _text(member.id),
            _nullable_text(member.instance_id),
            _text(member.client_id),
            _text(member.client_host),
            _TIMEOUTS.pack(member.rebalance_timeout_ms, member.session_timeout_ms),
            _blob(member.subscription),
            _blob(member.assignment),
        )
    return b"".join(parts)


def _read_offset(reader: "_Reader") -> CommittedOffset:
    version = reader.int16()
    if not 0 <= version <= OFFSET_VALUE_VERSION:
        raise UnreadableRecord(f"offset value version {version}")
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else NO_LEADER_EPOCH
    metadata = reader.text()
    commit_ms = reader.int64()
    expire_ms = reader.int64() if version == 1 else _NO_TIMESTAMP
    return CommittedOffset(
        offset, leader_epoch, metadata, commit_ms, None if expire_ms == _NO_TIMESTAMP else expire_ms
    )


def _read_group(reader: "_Reader") -> GroupMetadata:
    version = reader.int16()
    if not 0 <= version <= GROUP_VALUE_VERSION:
        raise UnreadableRecord(f"group value version {version}")
    protocol_type = reader.text()
    generation = reader.int32()
    protocol = reader.nullable_text()
    leader = reader.nullable_text()
    since_ms = reader.int64() if version >= 2 else _NO_TIMESTAMP
    return GroupMetadata(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        state_timestamp_ms=None if since_ms == _NO_TIMESTAMP else since_ms,
        members=tuple(_read_member(reader, version) for _ in range(reader.int32())),
    )


def _read_member(reader: "_Reader", version: int) -> RecordedMember:
    member_id = reader.text()
    instance_id = reader.nullable_text() if version >= 3 else None
    client_id, client_host = reader.text(), reader.text()
    first_timeout_ms = reader.int32()
    # Version 0 has one time-out only; it also bounded the rebalance.
    session_timeout_ms = reader.int32() if version >= 1 else first_timeout_ms
    return RecordedMember(
        id=member_id,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=first_timeout_ms,
        session_timeout_ms=session_timeout_ms,
        subscription=reader.blob(),
        assignment=reader.blob(),
    )


class _Reader:
    """Forward reader; raises struct.error when the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._number(_INT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def text(self) -> str:
        return self._take(self.int16()).decode()

    def nullable_text(self) -> str | None:
        length = self.int16()
        return None if length == -1 else self._take(length).decode()

    def blob(self) -> bytes:
        return self._take(self.int32())

    def _number(self, shape: Struct) -> int:
        (value,) = shape.unpack_from(self._data, self._at)
        self._at += shape.size
        return int(value)

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise StructError(f"{length} bytes announced, {len(self._data) - self._at} left")
        taken = self._data[self._at : end]
        self._at = end
        return taken
