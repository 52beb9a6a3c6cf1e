"""A change is told of as done once every other node that lives has acted upon it."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from struct import pack

import pytest
from tests.fakes.cluster_nodes import ManualClock, eventually, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.everywhere import Everywhere, catch_up
from duolog.broker.membership.membership import Membership
from duolog.broker.store_follower import StoreFollower
from duolog.model.errors import InvalidRequest
from duolog.ports.metastore import ChangeSet, Put
from duolog.ports.peers import REQUESTS_LANE, PeerUnreachable
from duolog.wire.peer.kinds import PeerKind

KIND = PeerKind.CATCH_UP_TOPICS


class Follower(StoreFollower[None]):
    def replay(self, changes: ChangeSet) -> Iterable[None]:
        return ()

    async def act(self, change: None) -> None: ...


class Others:
    """The other nodes: each answers once it is let, unless it cannot be reached."""

    def __init__(self) -> None:
        self.let = {node: asyncio.Event() for node in (2, 3)}
        self.asked: list[tuple[int, int, bytes]] = []
        self.away: set[int] = set()

    async def call(
        self, node: int, kind: int, body: bytes, *, timeout_ms: int, lane: str = REQUESTS_LANE
    ) -> memoryview:
        self.asked.append((node, kind, body))
        if node in self.away:
            raise PeerUnreachable(node, "is away", was_sent=False)
        await self.let[node].wait()
        return memoryview(b"")


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


@pytest.fixture
async def view(store: SqliteStore) -> AsyncIterator[ClusterView]:
    view = ClusterView(store)
    await view.start()
    for node in (1, 2, 3):
        await Membership(store, ManualClock(), registration(node)).register()
    await eventually(lambda: len(view.live) == 3)
    yield view
    await view.stop()


async def test_every_other_node_is_waited_for(view: ClusterView) -> None:
    others = Others()
    waiting = asyncio.create_task(Everywhere(others, view, 1, KIND).until(7))
    await eventually(lambda: len(others.asked) == 2)
    assert others.asked == [(node, KIND, pack(">Q", 7)) for node in (2, 3)]
    others.let[2].set()
    await asyncio.sleep(0.01)
    assert not waiting.done()
    others.let[3].set()
    await asyncio.wait_for(waiting, 10)


async def test_a_node_that_cannot_be_reached_is_not_waited_for(view: ClusterView) -> None:
    others = Others()
    others.away.add(2)
    others.let[3].set()
    await asyncio.wait_for(Everywhere(others, view, 1, KIND).until(7), 10)


async def test_a_node_answers_once_it_has_acted(store: SqliteStore) -> None:
    follower = Follower(store, "here/")
    await follower.start()
    revision = (await store.transact([], [Put("here/a", b"")])).revision
    await catch_up(follower, memoryview(pack(">Q", revision)))
    later = asyncio.create_task(catch_up(follower, memoryview(pack(">Q", revision + 1))))
    await asyncio.sleep(0.01)
    assert not later.done()
    await store.transact([], [Put("here/b", b"")])
    await asyncio.wait_for(later, 10)
    await follower.stop()


@pytest.mark.parametrize("body", [b"", b"1234567", b"123456789"])
async def test_what_names_no_revision_is_refused(store: SqliteStore, body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        await catch_up(Follower(store, "here/"), memoryview(body))
