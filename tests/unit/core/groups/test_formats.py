import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.groups.formats import UnreadableRecord, decode, encode
from duolog.core.groups.ledger import (
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

AT = TopicPartition("topic", 3)
OFFSET_KEY = bytes.fromhex("0001000567726f75700005746f70696300000003")
GROUP_KEY = bytes.fromhex("0002000567726f7570")


def test_an_offset_is_written_in_kafkas_version_3() -> None:
    key, value = encode(OffsetCommitted("group", AT, CommittedOffset(42, 7, "md", 1_000)))
    assert key == OFFSET_KEY
    assert value == bytes.fromhex("0003000000000000002a0000000700026d6400000000000003e8")


def test_an_offset_with_its_own_retention_is_written_in_kafkas_version_1() -> None:
    record = OffsetCommitted("group", AT, CommittedOffset(42, -1, "", 1_000, 2_000))
    _, value = encode(record)
    assert value == bytes.fromhex("0001000000000000002a000000000000000003e800000000000007d0")
    assert decode(OFFSET_KEY, value) == record


def test_a_group_is_written_in_kafkas_version_3() -> None:
    member = RecordedMember("m", None, "c", "/h", 60_000, 10_000, b"sub", b"as")
    metadata = GroupMetadata("consumer", 5, "range", "m", 1_000, (member,))
    key, value = encode(MetadataChanged("group", metadata))
    assert key == GROUP_KEY
    assert value == bytes.fromhex(
        "0003"
        "0008"
        "636f6e73756d6572"
        "00000005"
        "0005"
        "72616e6765"
        "0001"
        "6d"
        "00000000000003e8"
        "00000001"
        "0001"
        "6d"
        "ffff"
        "0001"
        "63"
        "0002"
        "2f68"
        "0000ea60"
        "00002710"
        "00000003"
        "737562"
        "00000002"
        "6173"
    )


def test_null_values_forget() -> None:
    assert encode(OffsetForgotten("group", AT)) == (OFFSET_KEY, None)
    assert encode(GroupForgotten("group")) == (GROUP_KEY, None)
    assert decode(OFFSET_KEY, None) == OffsetForgotten("group", AT)
    assert decode(GROUP_KEY, None) == GroupForgotten("group")


@pytest.mark.parametrize(
    "value",
    [
        bytes.fromhex("0000000000000000002a000000000000000003e8"),
        bytes.fromhex("0002000000000000002a000000000000000003e8"),
    ],
)
def test_older_offsets_are_read(value: bytes) -> None:
    expected = OffsetCommitted("group", AT, CommittedOffset(42, -1, "", 1_000))
    assert decode(OFFSET_KEY, value) == expected
    assert decode(b"\x00\x00" + OFFSET_KEY[2:], value) == expected


def test_the_oldest_group_format_is_read() -> None:
    value = bytes.fromhex(
        "0000000000000005ffffffff0000000100016d000163000168000027100000000000000000"
    )
    record = decode(GROUP_KEY, value)
    assert isinstance(record, MetadataChanged)
    assert record.metadata.state_timestamp_ms is None
    assert record.metadata.members == (
        RecordedMember("m", None, "c", "h", 10_000, 10_000, b"", b""),
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\x00\x09", b""),
        (OFFSET_KEY, b""),
        (OFFSET_KEY, b"\x00\x09"),
        (GROUP_KEY, b"\x00\x09"),
        (OFFSET_KEY[:-1], None),
        (b"\x00\x02\x00\x01\xff", None),
        (b"\x00\x02\xff\xfe", None),
    ],
)
def test_what_is_no_known_format_is_told_apart(key: bytes, value: bytes | None) -> None:
    with pytest.raises(UnreadableRecord):
        decode(key, value)


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(key: bytes, value: bytes | None) -> None:
    with contextlib.suppress(UnreadableRecord):
        decode(key, value)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
int32s = st.integers(0, 2**31 - 1)
int64s = st.integers(0, 2**63 - 1)
members = st.builds(
    RecordedMember,
    texts,
    st.none() | texts,
    texts,
    texts,
    int32s,
    int32s,
    st.binary(max_size=8),
    st.binary(max_size=8),
)
metadata = st.builds(
    GroupMetadata,
    texts,
    int32s,
    st.none() | texts,
    st.none() | texts,
    st.none() | int64s,
    st.lists(members, max_size=3).map(tuple),
)
places = st.builds(TopicPartition, texts, int32s)
committed = st.builds(CommittedOffset, int64s, int32s, texts, int64s)
records = st.one_of(
    st.builds(OffsetCommitted, texts, places, committed),
    st.builds(OffsetForgotten, texts, places),
    st.builds(MetadataChanged, texts, metadata),
    st.builds(GroupForgotten, texts),
)


@given(records)
def test_what_is_written_is_read_back(record: GroupRecord) -> None:
    assert decode(*encode(record)) == record
