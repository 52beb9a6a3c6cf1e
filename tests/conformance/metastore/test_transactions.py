import asyncio

from duolog.ports.metastore import OPERATIONS_MAX, Compare, Delete, MetaStore, Put


async def put(store: MetaStore, key: str, value: bytes = b"") -> int:
    result = await store.transact([], [Put(key, value)])
    assert result.committed
    return result.revision


async def test_an_absent_key_has_no_entry(store):
    assert await store.get("nothing") is None


async def test_what_was_put_is_read_with_the_revision_that_wrote_it(store):
    await put(store, "a", b"1")
    revision = await put(store, "a", b"2")
    entry = await store.get("a")
    assert (entry.key, entry.value, entry.mod_revision) == ("a", b"2", revision)


async def test_each_change_raises_the_revision_by_one(store):
    first = await put(store, "a")
    assert await put(store, "b") == first + 1
    assert (await store.transact([], [Delete("a"), Put("c", b"")])).revision == first + 2


async def test_putting_the_same_value_again_is_a_change(store):
    first = await put(store, "a", b"same")
    assert await put(store, "a", b"same") == first + 1


async def test_a_transaction_without_an_effect_leaves_the_revision(store):
    revision = await put(store, "a")
    assert (await store.transact([], [])).revision == revision
    assert (await store.transact([], [Delete("absent")])).revision == revision
    assert (await store.range("")).revision == revision


async def test_a_compare_holds_for_the_mod_revision_alone(store):
    revision = await put(store, "a", b"1")
    refused = await store.transact([Compare("a", revision - 1)], [Put("a", b"2")])
    assert not refused.committed
    assert refused.revision == revision
    accepted = await store.transact([Compare("a", revision)], [Put("a", b"3")])
    assert accepted.committed
    assert (await store.get("a")).value == b"3"


async def test_revision_zero_compares_as_absent(store):
    assert (await store.transact([Compare("a", 0)], [Put("a", b"1")])).committed
    assert not (await store.transact([Compare("a", 0)], [Put("a", b"2")])).committed
    await store.transact([], [Delete("a")])
    assert (await store.transact([Compare("a", 0)], [Put("a", b"3")])).committed


async def test_an_absent_key_does_not_compare_as_a_revision(store):
    revision = await put(store, "a")
    await store.transact([], [Delete("a")])
    assert not (await store.transact([Compare("a", revision)], [Put("a", b"")])).committed


async def test_one_failed_compare_refuses_every_operation(store):
    revision = await put(store, "a", b"old")
    result = await store.transact(
        [Compare("a", revision), Compare("b", 7)], [Put("a", b"new"), Put("b", b"new")]
    )
    assert not result.committed
    assert (await store.get("a")).value == b"old"
    assert await store.get("b") is None


async def test_the_operations_of_one_transaction_share_a_revision(store):
    revision = (await store.transact([], [Put("a", b""), Put("b", b"")])).revision
    assert (await store.get("a")).mod_revision == (await store.get("b")).mod_revision == revision


async def test_a_transaction_can_be_as_long_as_promised(store):
    keys = [f"k/{n}" for n in range(OPERATIONS_MAX)]
    result = await store.transact(
        [Compare(key, 0) for key in keys], [Put(key, b"\x00\xff") for key in keys]
    )
    assert result.committed
    assert len((await store.range("k/")).entries) == OPERATIONS_MAX


async def test_of_concurrent_transactions_on_one_revision_one_wins(store):
    revision = await put(store, "leader", b"nobody")
    results = await asyncio.gather(
        *(
            store.transact([Compare("leader", revision)], [Put("leader", b"%d" % node)])
            for node in range(20)
        )
    )
    winners = [node for node, result in enumerate(results) if result.committed]
    assert len(winners) == 1
    assert (await store.get("leader")).value == b"%d" % winners[0]


async def test_concurrent_increments_are_never_lost(store):
    async def increment() -> None:
        while True:
            entry = await store.get("counter")
            count, revision = (int(entry.value), entry.mod_revision) if entry else (0, 0)
            put_next = Put("counter", b"%d" % (count + 1))
            if (await store.transact([Compare("counter", revision)], [put_next])).committed:
                return

    await asyncio.gather(*(increment() for _ in range(12)))
    assert (await store.get("counter")).value == b"12"


async def test_a_range_is_ordered_by_key_and_knows_its_revision(store):
    for key in ("t/b", "t/a", "t/c", "t/B", "t/ä"):
        revision = await put(store, key, key.encode())
    snapshot = await store.range("t/")
    assert snapshot.revision == revision
    assert [entry.key for entry in snapshot.entries] == ["t/B", "t/a", "t/b", "t/c", "t/ä"]
    assert [entry.value.decode() for entry in snapshot.entries] == [
        "t/B",
        "t/a",
        "t/b",
        "t/c",
        "t/ä",
    ]


async def test_a_range_holds_exactly_the_keys_with_the_prefix(store):
    for key in ("topic", "topics", "topics/", "topics/a", "topics/%", "topics0", "Topics/a", "t_"):
        await put(store, key)
    assert [entry.key for entry in (await store.range("topics/")).entries] == [
        "topics/",
        "topics/%",
        "topics/a",
    ]
    assert [entry.key for entry in (await store.range("t_")).entries] == ["t_"]
    assert len((await store.range("")).entries) == 8


async def test_an_empty_range_still_knows_the_revision(store):
    revision = await put(store, "a")
    snapshot = await store.range("nothing/")
    assert (snapshot.revision, snapshot.entries) == (revision, ())


async def test_a_restart_keeps_data_and_revision(store_factory):
    store = await store_factory()
    revision = await put(store, "a", b"\x00\xff kept")
    await store.close()
    store = await store_factory()
    assert (await store.get("a")).value == b"\x00\xff kept"
    assert (await store.get("a")).mod_revision == revision
    assert await put(store, "b") == revision + 1
