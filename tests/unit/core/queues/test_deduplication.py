from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from duolog.core.queues import deduplication
from duolog.core.queues.deduplication import (
    DEDUPLICATION_MS,
    GENERATION_MS,
    Deduplication,
    deduplication_key,
)

KEY = deduplication_key(b"order-1", None)
OTHER = deduplication_key(b"order-2", None)


def test_a_key_is_recognised_for_five_minutes() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    assert seen.find(KEY, 1_000 + DEDUPLICATION_MS - 1) == 7
    assert seen.find(KEY, 1_000 + DEDUPLICATION_MS) is None
    assert len(seen) == 0


def test_another_key_is_not() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    assert seen.find(OTHER, 1_000) is None


def test_the_first_message_counts() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    seen.remember(KEY, 9, 2_000)
    assert seen.find(KEY, 2_000) == 7
    assert seen.find(KEY, 1_000 + DEDUPLICATION_MS) is None


def test_a_key_may_be_used_again_after_its_time() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    seen.remember(KEY, 9, 1_000 + DEDUPLICATION_MS)
    assert seen.find(KEY, 1_000 + DEDUPLICATION_MS) == 9


def test_a_failed_write_is_forgotten() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    seen.remember(OTHER, 8, 1_000)
    seen.forget_from(8)
    assert seen.find(KEY, 1_000) == 7
    assert seen.find(OTHER, 1_000) is None
    seen.remember(OTHER, 8, 1_001)
    assert seen.find(OTHER, 1_001) == 8


def test_keys_are_told_apart_by_group_only_where_groups_are_the_scope() -> None:
    keys = {
        deduplication_key(b"ab", None),
        deduplication_key(b"ab", b""),
        deduplication_key(b"b", b"a"),
        deduplication_key(b"", b"ab"),
        deduplication_key(b"", None),
    }
    assert len(keys) == 5
    assert {len(key) for key in keys} == {15}
    assert deduplication_key(b"ab", b"c") == deduplication_key(b"ab", b"c")


def test_keys_are_forgotten_a_minute_after_their_time_at_the_latest() -> None:
    seen = Deduplication()
    for second in range(1_000):
        seen.remember(b"%d" % second, second, second * 1_000)
        assert len(seen) <= (DEDUPLICATION_MS + GENERATION_MS) // 1_000


def test_a_failed_write_is_forgotten_across_generations() -> None:
    seen = Deduplication()
    for offset in range(5):
        seen.remember(b"%d" % offset, offset, offset * GENERATION_MS)
    seen.forget_from(2)
    now_ms = 4 * GENERATION_MS
    assert [seen.find(b"%d" % offset, now_ms) for offset in range(5)] == [0, 1, None, None, None]


class Told(NamedTuple):
    key: int
    passed_ms: int
    lost: int
    """So many of the newest messages were never written."""


@given(
    st.lists(
        st.builds(
            Told,
            st.integers(0, 5),
            st.sampled_from((0, 1, 20_000, 60_000, 299_999, 300_000)),
            st.sampled_from((0, 0, 0, 1, 3)),
        ),
        max_size=60,
    )
)
@settings(deadline=None, max_examples=150)
def test_it_knows_what_a_plain_list_of_sends_knows(told: list[Told]) -> None:
    seen = Deduplication()
    sends: list[tuple[bytes, int, int]] = []
    now_ms = offset = 0

    def known(key: bytes) -> int | None:
        alive = [at for each, at, ms in sends if each == key and ms > now_ms - DEDUPLICATION_MS]
        return alive[0] if alive else None

    for number, passed_ms, lost in told:
        now_ms += passed_ms
        key = b"key-%d" % number
        assert seen.find(key, now_ms) == known(key)
        if known(key) is None:
            sends.append((key, offset, now_ms))
        seen.remember(key, offset, now_ms)
        offset += 1
        if lost:
            offset = max(0, offset - lost)
            seen.forget_from(offset)
            sends = [send for send in sends if send[1] < offset]
        for each in range(6):
            assert seen.find(b"key-%d" % each, now_ms) == known(b"key-%d" % each)


def restored(seen: Deduplication, end_offset: int, now_ms: int) -> Deduplication:
    again = Deduplication()
    for table in seen.save(end_offset):
        again.load(table, now_ms)
    return again


def digest(number: int) -> bytes:
    return deduplication_key(b"key-%d" % number, None)


@given(
    st.lists(
        st.builds(
            Told,
            st.integers(0, 5),
            st.sampled_from((0, 0, 0, 1, 20_000, 60_000, 299_999)),
            st.sampled_from((0, 0, 0, 1, 3)),
        ),
        max_size=60,
    ),
    st.sampled_from((1, 2, 20_000)),
    st.integers(0, 60),
)
@settings(deadline=None, max_examples=150)
def test_what_is_saved_knows_what_was_known(
    told: list[Told], keys_max: int, end_offset: int
) -> None:
    seen = Deduplication()
    now_ms = offset = 0
    for number, passed_ms, late in told:
        now_ms += passed_ms
        # Some are noticed late: a younger message has overtaken them.
        remember = seen.remember_late if late else seen.remember
        remember(digest(number), max(0, offset - late), now_ms)
        offset += 2 + late
    with patch.object(deduplication, "SAVED_KEYS_MAX", keys_max):
        again = restored(seen, end_offset, now_ms)
    cut = restored(again, offset, now_ms)
    cut.forget_from(end_offset // 2)
    for number in range(6):
        at = again.find(digest(number), now_ms)
        known = None if at is None or at >= end_offset // 2 else at
        assert cut.find(digest(number), now_ms) == known
    for later_ms in (now_ms, now_ms + 1, now_ms + 100_000, now_ms + 299_999):
        for number in range(6):
            at = seen.find(digest(number), later_ms)
            known = None if at is None or at >= end_offset else at
            assert again.find(digest(number), later_ms) == known


def test_a_key_saved_by_a_clock_that_was_ahead_counts_as_sent_now() -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 90_000)
    again = restored(seen, 8, 1_000)
    assert again.find(KEY, 1_000 + DEDUPLICATION_MS - 1) == 7
    assert again.find(KEY, 1_000 + DEDUPLICATION_MS) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"keys": KEY},
        {"offsets": b""},
        {"offsets": b"x"},
        {"times_ms": b""},
        {"first_offsets": b"", "times_ms": b""},
    ],
)
def test_a_table_that_contradicts_itself_is_refused(broken: dict[str, bytes]) -> None:
    seen = Deduplication()
    seen.remember(KEY, 7, 1_000)
    seen.remember(OTHER, 8, 2_000)
    (table,) = seen.save(9)
    with pytest.raises(ValueError):
        Deduplication().load(replace(table, **broken), 3_000)


def test_a_message_that_others_have_overtaken_keeps_its_own_time() -> None:
    seen = Deduplication()
    seen.remember(digest(0), 5, 1_000)
    seen.remember(digest(1), 9, 1_000)
    seen.remember_late(digest(2), 7, 3_000)
    assert seen.find(digest(2), 2_999 + DEDUPLICATION_MS) == 7
    assert seen.find(digest(1), 1_000 + DEDUPLICATION_MS) is None
    seen.forget_from(8)
    assert [seen.find(digest(each), 3_000) for each in range(3)] == [5, None, 7]
