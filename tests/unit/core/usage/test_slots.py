import errno
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core.usage.keys import OTHER, Counts, UsageKey
from duolog.core.usage.slots import (
    CHUNK_BYTES,
    SLOTS_MAX,
    SLOTS_PER_CHUNK,
    Interval,
    Mark,
    PartitionName,
    Slots,
    read_interval,
)


class File:
    """A file of chunks; a full one has no room for more."""

    def __init__(self, *, chunks_max: int = 1_000) -> None:
        self._chunks_max = chunks_max
        self.chunks = [bytearray(CHUNK_BYTES)]

    @property
    def first(self) -> memoryview:
        return memoryview(self.chunks[0])

    def more(self) -> memoryview:
        if len(self.chunks) >= self._chunks_max:
            raise OSError(errno.ENOSPC, "no room")
        self.chunks.append(bytearray(CHUNK_BYTES))
        return memoryview(self.chunks[-1])

    def read(self) -> Interval:
        interval = read_interval(b"".join(self.chunks))
        assert interval is not None
        return interval


def slots_of(file: File, sequence: int = 7, from_ms: int = 1_000) -> Slots:
    return Slots(sequence, from_ms, file.first, file.more)


def key_of(resource: str, operation: str = "send", tenant: str = "1") -> UsageKey:
    return UsageKey(tenant, "queue", resource, operation)


def add(slots: Slots, key: UsageKey, counts: Counts) -> None:
    words, at = slots.key(key)
    for place, number in enumerate(counts):
        words[at + place] += number


numbers = st.integers(0, 1 << 50)
keys = st.builds(
    UsageKey,
    st.sampled_from(["1", "2"]),
    st.sampled_from(["queue", "topic"]),
    st.text("abcdé.-", min_size=1, max_size=40),
    st.sampled_from(["send", "produce"]),
)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(keys, st.builds(Counts, *[numbers] * 5)), max_size=300))
def test_what_is_counted_is_read_again(added: list[tuple[UsageKey, Counts]]) -> None:
    file = File()
    slots = slots_of(file)
    expected: dict[UsageKey, Counts] = {}
    for key, counts in added:
        add(slots, key, counts)
        expected[key] = expected.get(key, Counts()).plus(counts)
    expected = {key: counts for key, counts in expected.items() if any(counts)}
    assert dict(slots.counts()) == expected
    assert dict(file.read().counts) == expected
    assert slots.is_empty == (not expected)


def test_the_head_tells_which_interval_it_is() -> None:
    file = File()
    slots = slots_of(file, 12, 5_000)
    slots.stored_ms = 4_000
    assert file.read()[:4] == (12, 5_000, 0, 4_000)
    slots.from_ms = 6_000
    slots.close(9_000)
    assert file.read()[:4] == (12, 6_000, 9_000, 4_000)


@pytest.mark.parametrize("data", [b"", bytes(100), bytes(CHUNK_BYTES), b"\xff" * CHUNK_BYTES])
def test_a_file_that_was_never_begun_says_nothing(data: bytes) -> None:
    assert read_interval(data) is None


@settings(deadline=None, max_examples=50)
@given(st.integers(0, CHUNK_BYTES - 1), st.binary(min_size=1, max_size=600))
def test_a_damaged_file_is_read_without_a_failure(at: int, damage: bytes) -> None:
    file = File()
    add(slots_of(file), key_of("orders"), Counts(1, 2, 3, 4, 5))
    data = bytearray(file.chunks[0])
    data[at : at + len(damage)] = damage
    read_interval(bytes(data[:CHUNK_BYTES]))


def test_more_keys_than_there_are_slots_are_counted_together() -> None:
    file = File()
    slots = slots_of(file)
    names = SLOTS_MAX + 100
    for number in range(names):
        add(slots, key_of(f"q{number}"), Counts(1, 1))
    found = dict(file.read().counts)
    assert len(found) <= SLOTS_MAX
    assert found[key_of("q0")] == Counts(1, 1)
    assert sum(counts.messages for counts in found.values()) == names
    assert found[key_of(OTHER)].messages == names - (len(found) - 1)


def test_where_the_disk_is_full_keys_are_counted_together() -> None:
    file = File(chunks_max=1)
    slots = slots_of(file)
    for number in range(SLOTS_PER_CHUNK):
        for tenant in range(100):
            add(slots, key_of(f"q{number}", tenant=str(tenant)), Counts(1, 1))
    found = dict(file.read().counts)
    assert sum(counts.messages for counts in found.values()) == 100 * SLOTS_PER_CHUNK
    assert key_of(OTHER, tenant=OTHER) in found
    assert dict(slots.counts()) == found


def test_a_name_that_is_too_long_is_counted_with_others() -> None:
    file = File()
    add(slots_of(file), key_of("q" * 500), Counts(1, 1))
    assert file.read().counts == [(key_of(OTHER), Counts(1, 1))]


def test_partitions_of_a_topic_are_added_up_and_marked_apart() -> None:
    file = File()
    slots = slots_of(file)
    key = UsageKey("1", "topic", "events", "produce")
    names = [PartitionName(b"i" * 16, number) for number in (0, 1)]
    places: list[Any] = [slots.partition(key, name, Mark(40, 2)) for name in names]
    assert slots.is_empty
    assert file.read().marks == dict.fromkeys(names, Mark(40, 2))
    for words, at in places:
        words[at + 1] += 5
    assert slots.partition(key, names[1], Mark(55, 3)) == places[1]
    interval = file.read()
    assert interval.marks == {names[0]: Mark(40, 2), names[1]: Mark(55, 3)}
    assert interval.counts == slots.counts() == [(key, Counts(messages=10))]
