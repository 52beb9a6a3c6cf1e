"""The metadata store on a real etcd of three members that fail."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.harness import etcd as etcd_harness
from tests.harness.etcd import Etcd
from tests.harness.namespaces import Network, NoNamespaces

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.reading import PAGE_KEYS_MAX
from duolog.adapters.etcd.store import REQUEST_TIMEOUT_S, EtcdStore
from duolog.ports.metastore import ChangeSet, Compacted, Compare, Delete, Put, StoreUnavailable

pytestmark = pytest.mark.skipif(not etcd_harness.is_installed, reason="etcd is not installed")

PREFIX = "/duolog/faults/"
LATE_S = 10.0
"""What a busy machine adds to a deadline."""
RESUMED_S_MAX = 30.0
COUNTED_S_MAX = 30.0

Open = Callable[[Sequence[Endpoint]], Awaitable[EtcdStore]]


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    with Etcd(tmp_path / "etcd", members=3) as running:
        yield running


@pytest.fixture
async def open_store() -> AsyncIterator[Open]:
    opened: list[EtcdStore] = []

    async def opening(endpoints: Sequence[Endpoint]) -> EtcdStore:
        opened.append(await EtcdStore.open(endpoints, PREFIX))
        return opened[-1]

    yield opening
    for store in opened:
        await store.close()


async def blocking(work: Callable[..., object], *arguments: object) -> None:
    """The harness waits for etcd; the store must go on meanwhile."""
    await asyncio.to_thread(work, *arguments)


class Counter:
    """Counts up by compare-and-set. What it shares is a total, and how much came from whom."""

    def __init__(self, store: EtcdStore, name: str) -> None:
        self._store = store
        self._name = name
        self.done = 0
        self.unknown = 0

    async def increment(self) -> None:
        """Exactly once, however often the outcome of a try is unknown."""
        wanted = self.done + 1
        while self.done < wanted:
            try:
                await self._try(wanted)
            except StoreUnavailable:
                self.unknown += 1

    async def _try(self, wanted: int) -> None:
        entry = await self._store.get("counter")
        counts = json.loads(entry.value) if entry else {"total": 0}
        own = counts.get(self._name, 0)
        assert own in (self.done, wanted), "an increment was lost or done twice"
        if own == wanted:
            self.done = wanted
            return
        counts |= {"total": counts["total"] + 1, self._name: wanted}
        put = Put("counter", json.dumps(counts).encode())
        compare = Compare("counter", entry.mod_revision if entry else 0)
        if (await self._store.transact([compare], [put])).committed:
            self.done = wanted


async def test_no_increment_is_lost_or_doubled_when_leaders_are_killed(etcd, open_store):
    stores = [await open_store(etcd.endpoints), await open_store(etcd.endpoints[::-1])]
    counters = [Counter(store, name) for store, name in zip(stores, "ab", strict=True)]
    stopping = asyncio.Event()

    async def count(counter: Counter) -> None:
        while not stopping.is_set():
            await counter.increment()

    counting = asyncio.gather(*map(count, counters))
    for _ in range(2):
        await asyncio.sleep(0.3)
        leader = etcd.leader()
        etcd.kill(leader)
        before = sum(counter.done for counter in counters)
        await asyncio.sleep(0.5)
        etcd.start(leader)
        await blocking(etcd.until_healthy)
        async with asyncio.timeout(COUNTED_S_MAX):
            while sum(counter.done for counter in counters) <= before:
                await asyncio.sleep(0.01)
    stopping.set()
    async with asyncio.timeout(COUNTED_S_MAX):
        await counting
    counts = json.loads((await stores[0].get("counter")).value)
    assert counts == {
        "a": counters[0].done,
        "b": counters[1].done,
        "total": counters[0].done + counters[1].done,
    }


class Watched:
    """Collects what a watch sees, and when."""

    def __init__(self, watch: AsyncIterator[ChangeSet]) -> None:
        self.values: list[int] = []
        self.revisions: list[int] = []
        self._task = asyncio.create_task(self._collect(watch))

    async def _collect(self, watch: AsyncIterator[ChangeSet]) -> None:
        async for change_set in watch:
            (change,) = change_set.changes
            self.values.append(int(change.entry.value))
            self.revisions.append(change_set.revision)

    async def until(self, value: int, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not self.values or self.values[-1] < value:
                assert not self._task.done()
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._task.cancel()


async def write(store: EtcdStore, value: int) -> None:
    """Put the value once, although the leader may fail meanwhile."""
    async with asyncio.timeout(RESUMED_S_MAX):
        compare = await compare_of(store)
        while True:
            try:
                await store.transact([compare], [Put("n", b"%d" % value)])
                return
            except StoreUnavailable:
                # If it was committed after all, the same compare no longer holds.
                continue


async def compare_of(store: EtcdStore) -> Compare:
    """With the value as it is now, once there is a leader to ask."""
    while True:
        try:
            entry = await store.get("n")
            return Compare("n", entry.mod_revision if entry else 0)
        except StoreUnavailable:
            continue


@pytest.mark.parametrize("frozen_leads", [False, True])
async def test_a_watch_on_a_frozen_member_goes_on_elsewhere(etcd, open_store, frozen_leads):
    leader = etcd.leader()
    frozen = leader if frozen_leads else (leader + 1) % 3
    others = [endpoint for at, endpoint in enumerate(etcd.endpoints) if at != frozen]
    writer = await open_store(others)
    reader = await open_store([etcd.endpoints[frozen], *others])
    first = (await writer.range("")).revision + 1
    watched = Watched(reader.watch("n", first))

    for value in range(20):
        await write(writer, value)
    await watched.until(19, LATE_S)
    etcd.freeze(frozen)
    for value in range(20, 40):
        await write(writer, value)
    await watched.until(39, RESUMED_S_MAX)
    etcd.thaw(frozen)
    for value in range(40, 60):
        await write(writer, value)
    await watched.until(59, LATE_S)
    watched.stop()
    assert watched.values == list(range(60))
    assert watched.revisions == sorted(set(watched.revisions))


@pytest.fixture
def network() -> Iterator[Network]:
    with ExitStack() as stack:
        try:
            network = stack.enter_context(Network(["a", "b", "c"]))
            stack.enter_context(network.clients.entered())
        except NoNamespaces as missing:
            pytest.skip(str(missing))
        yield network


@pytest.mark.parametrize("cut_off_leads", [False, True])
async def test_a_watch_on_a_member_that_is_cut_off_goes_on_elsewhere(
    network, open_store, tmp_path, cut_off_leads
):
    """The member still answers the client, and keeps the watch open, but learns nothing."""
    with Etcd(tmp_path / "etcd", 3, machines=list(network.machines.values())) as etcd:
        leader = etcd.leader()
        cut_off = leader if cut_off_leads else (leader + 1) % 3
        others = [endpoint for at, endpoint in enumerate(etcd.endpoints) if at != cut_off]
        writer = await open_store(others)
        reader = await open_store([etcd.endpoints[cut_off], *others])
        watched = Watched(reader.watch("n", (await writer.range("")).revision + 1))
        for value in range(10):
            await write(writer, value)
        await watched.until(9, LATE_S)
        name = "abc"[cut_off]
        network.cut([name], [other for other in "abc" if other != name])
        for value in range(10, 20):
            await write(writer, value)
        await watched.until(19, RESUMED_S_MAX)
        network.heal()
        for value in range(20, 30):
            await write(writer, value)
        await watched.until(29, LATE_S)
        watched.stop()
        assert watched.values == list(range(30))


async def test_a_watch_survives_the_death_of_its_member(etcd, open_store):
    store = await open_store(etcd.endpoints)
    watched = Watched(store.watch("n", (await store.range("")).revision + 1))
    for value in range(30):
        if value == 10:
            etcd.kill(0)
        if value == 20:
            etcd.start(0)
            etcd.kill(1)
            await blocking(etcd.until_healthy, [0, 2])
        await write(store, value)
    await watched.until(29, RESUMED_S_MAX)
    watched.stop()
    assert watched.values == list(range(30))


async def test_a_watch_that_was_broken_during_compaction_is_told_so(etcd, open_store):
    store, other = await open_store(etcd.endpoints[:1]), await open_store(etcd.endpoints[1:])
    watch = store.watch("n", (await store.range("")).revision + 1)
    await write(store, 0)
    await anext(watch)
    etcd.kill(0)
    for value in range(1, 4):
        await write(other, value)
    await blocking(etcd.compact)
    etcd.start(0)
    # Nothing else runs meanwhile: the watch is not to come back before the member has learned
    # of the compaction, or it would be given what the others have forgotten.
    etcd.until_healthy()
    with pytest.raises(Compacted):
        await asyncio.wait_for(anext(watch), RESUMED_S_MAX)
    assert (await store.get("n")).value == b"3"


async def test_without_a_quorum_requests_fail_in_time_and_work_again_afterwards(etcd, open_store):
    store = await open_store(etcd.endpoints)
    watched = Watched(store.watch("n", (await store.range("")).revision + 1))
    await write(store, 0)
    lease = await store.grant_lease(60_000)
    etcd.kill(1)
    etcd.kill(2)
    for request in (
        lambda: store.get("n"),
        lambda: store.range(""),
        lambda: store.transact([], [Put("other", b"")]),
        lambda: store.renew_lease(lease),
    ):
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await request()
        assert time.monotonic() - begun < REQUEST_TIMEOUT_S + LATE_S
    etcd.start(1)
    etcd.start(2)
    await blocking(etcd.until_healthy)
    assert (await store.get("n")).value == b"0"
    await write(store, 1)
    await store.renew_lease(lease)
    await watched.until(1, RESUMED_S_MAX)
    watched.stop()
    assert watched.values == [0, 1]


async def test_a_member_of_another_cluster_is_not_used(etcd, open_store, tmp_path):
    with Etcd(tmp_path / "other") as other:
        store = await open_store([etcd.endpoints[0], other.endpoints[0]])
        await write(store, 0)
        etcd.kill(0)
        with pytest.raises(StoreUnavailable, match="it belongs to etcd cluster"):
            await store.get("n")


async def test_the_pages_of_a_long_range_are_of_one_revision(open_store, tmp_path):
    with Etcd(tmp_path / "etcd") as etcd:
        store = await open_store(etcd.endpoints)

        async def fill(part: int) -> None:
            for n in range(part, 200, 4):
                await store.transact([], [Put(f"k/{n:03}/{m:02}", b"x" * 50) for m in range(100)])

        await asyncio.gather(*map(fill, range(4)))
        reading = asyncio.create_task(store.range("k/"))
        while not reading.done():
            await store.transact([], [Put("k/199/99", b"changed"), Delete("k/199/98")])
            await asyncio.sleep(0.02)
        snapshot = await reading
    assert len(snapshot.entries) > 2 * PAGE_KEYS_MAX
    late = [entry for entry in snapshot.entries if entry.mod_revision > snapshot.revision]
    assert late == []
    assert len(snapshot.entries) in (20_000, 19_999)
    assert snapshot.entries[0].key == "k/000/00"
    assert snapshot.entries[-1].key == "k/199/99"


async def test_a_watch_far_behind_catches_up_on_large_values(etcd, open_store):
    """Together they are more than etcd puts into one message."""
    store = await open_store(etcd.endpoints)
    value = bytes(range(256)) * 1_900
    puts = [[Put(f"{key}/{n}", value) for key in "ab"] for n in range(12)]
    revisions = [(await store.transact([], each)).revision for each in puts]
    watch = store.watch("", revisions[0])
    async with asyncio.timeout(RESUMED_S_MAX):
        seen = [await anext(watch) for _ in revisions]
    await watch.aclose()
    assert [change_set.revision for change_set in seen] == revisions
    for n, change_set in enumerate(seen):
        assert {change.key: change.entry.value for change in change_set.changes} == {
            f"a/{n}": value,
            f"b/{n}": value,
        }
