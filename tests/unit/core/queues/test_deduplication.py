from duolog.core.queues.deduplication import (
    DEDUPLICATION_MS,
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
    assert {len(key) for key in keys} == {16}
    assert deduplication_key(b"ab", b"c") == deduplication_key(b"ab", b"c")
