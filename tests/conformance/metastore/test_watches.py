import asyncio
from collections.abc import AsyncIterator

import pytest

from duolog.ports.metastore import ChangeSet, Compacted, Delete, MetaStore, Put

SOON_S = 20


async def take(watch: AsyncIterator[ChangeSet], count: int) -> list[ChangeSet]:
    return [await asyncio.wait_for(anext(watch), SOON_S) for _ in range(count)]


async def revision_of(store: MetaStore) -> int:
    return (await store.range("")).revision


async def test_a_watch_sees_what_happens_after_it_began(store):
    watch = store.watch("a/", await revision_of(store) + 1)
    waiting = asyncio.create_task(take(watch, 1))
    await asyncio.sleep(0.01)
    result = await store.transact([], [Put("a/1", b"x")])
    (seen,) = await waiting
    assert seen.revision == result.revision
    ((key, entry),) = [(change.key, change.entry) for change in seen.changes]
    assert (key, entry.value, entry.mod_revision) == ("a/1", b"x", result.revision)


async def test_a_watch_from_the_past_begins_there(store):
    first = (await store.transact([], [Put("a", b"1")])).revision
    await store.transact([], [Put("a", b"2")])
    await store.transact([], [Delete("a")])
    seen = await take(store.watch("a", first + 1), 2)
    assert [change_set.revision for change_set in seen] == [first + 1, first + 2]
    assert seen[0].changes[0].entry.value == b"2"
    assert seen[1].changes[0].key == "a"
    assert seen[1].changes[0].entry is None


async def test_a_watch_sees_only_its_prefix(store):
    watch = store.watch("a/", await revision_of(store) + 1)
    await store.transact([], [Put("a", b""), Put("a0", b""), Put("b/1", b"")])
    result = await store.transact([], [Put("a/1", b""), Put("b/1", b"")])
    (seen,) = await take(watch, 1)
    assert seen.revision == result.revision
    assert [change.key for change in seen.changes] == ["a/1"]


async def test_the_changes_of_one_revision_come_together(store):
    watch = store.watch("a/", await revision_of(store) + 1)
    await store.transact([], [Put(f"a/{n}", b"") for n in range(10)])
    (seen,) = await take(watch, 1)
    assert {change.key for change in seen.changes} == {f"a/{n}" for n in range(10)}


async def test_a_watch_has_no_gap_and_no_duplicate_under_concurrent_writers(store):
    first = await revision_of(store) + 1
    early = asyncio.create_task(take(store.watch("k/", first), 40))

    async def write(writer: int) -> None:
        for n in range(10):
            await store.transact([], [Put(f"k/{writer}", b"%d" % n)])

    writing = asyncio.gather(*(write(writer) for writer in range(4)))
    await asyncio.sleep(0)
    late = asyncio.create_task(take(store.watch("k/", first), 40))
    await writing
    for seen in (await early, await late):
        assert [change_set.revision for change_set in seen] == list(range(first, first + 40))
        for writer in range(4):
            values = [
                change.entry.value
                for change_set in seen
                for change in change_set.changes
                if change.key == f"k/{writer}"
            ]
            assert values == [b"%d" % n for n in range(10)]


async def test_a_range_and_a_watch_from_its_next_revision_miss_nothing(store):
    async def write() -> None:
        for n in range(30):
            await store.transact([], [Put(f"k/{n}", b"")])

    writing = asyncio.create_task(write())
    await store.transact([], [Put("k/other", b"")])
    snapshot = await store.range("k/")
    watch = store.watch("k/", snapshot.revision + 1)
    seen = await take(watch, 31 - len(snapshot.entries))
    await writing
    keys = [entry.key for entry in snapshot.entries]
    keys += [change.key for change_set in seen for change in change_set.changes]
    assert sorted(keys) == sorted([f"k/{n}" for n in range(30)] + ["k/other"])


async def test_a_watch_from_forgotten_revisions_is_told_so(store, harness):
    first = (await store.transact([], [Put("a", b"1")])).revision
    await store.transact([], [Put("a", b"2")])
    await harness.compact(store)
    with pytest.raises(Compacted):
        await take(store.watch("a", first), 1)


async def test_after_compaction_the_present_can_still_be_read_and_watched(store, harness):
    await store.transact([], [Put("a", b"1")])
    await harness.compact(store)
    assert (await store.get("a")).value == b"1"
    watch = store.watch("a", await revision_of(store) + 1)
    await store.transact([], [Put("a", b"2")])
    (seen,) = await take(watch, 1)
    assert seen.changes[0].entry.value == b"2"


async def test_a_watch_reaches_back_before_a_restart(store_factory):
    store = await store_factory()
    first = (await store.transact([], [Put("a", b"1")])).revision
    await store.close()
    store = await store_factory()
    (seen,) = await take(store.watch("a", first), 1)
    assert seen.changes[0].entry.value == b"1"


async def test_a_closed_watch_does_not_disturb_the_others(store):
    first = await revision_of(store) + 1
    closed, kept = store.watch("a", first), store.watch("a", first)
    await store.transact([], [Put("a", b"1")])
    await take(closed, 1)
    await closed.aclose()
    await store.transact([], [Put("a", b"2")])
    assert len(await take(kept, 2)) == 2
