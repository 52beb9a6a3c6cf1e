from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

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
