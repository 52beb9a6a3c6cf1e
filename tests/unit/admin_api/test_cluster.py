"""The cluster, as the admin API shows it, and what operators can ask of it."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.fakes.cluster_bench import ToldEnds
from tests.fakes.cluster_nodes import ManualClock, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.admin_api.cluster import ClusterPages
from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.requests import Requests
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.entries import broker_key, encode, node_key
from duolog.core.controller.events import Event
from duolog.model.cluster import NodeRecord
from duolog.model.partition_state import NO_LEADER, PartitionState
from duolog.ports.http import Request, Response
from duolog.ports.metastore import Put


class Api:
    def __init__(self, store: SqliteStore, view: ClusterView, catalog: Catalog) -> None:
        self.store = store
        self.catalog = catalog
        clock = ManualClock()
        self.events = EventLog(store, 1)
        requests = Requests(store, clock, catalog, view, self.events, ToldEnds())
        self.in_touch = True
        self._pages = ClusterPages(
            "cluster-id", view, catalog, store, requests, lambda: self.in_touch
        )

    async def ask(self, target: str, method: str = "GET", body: object = None) -> tuple[int, Any]:
        path, _, query = target.partition("?")
        asked = Request(method, path, query, {}, json.dumps(body).encode(), "127.0.0.1:5")
        answer = self._pages.answer(asked)
        answer = answer if isinstance(answer, Response) else await answer
        return answer.status, json.loads(answer.body)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    store = await SqliteStore.open(":memory:", ManualClock())
    for node in (1, 2):
        record = NodeRecord(node, f"directory of {node}")
        operations = [Put(broker_key(node), encode(registration(node)))]
        await store.transact([], [*operations, Put(node_key(node), encode(record))])
    await store.transact([], [Put(node_key(3), encode(NodeRecord(3, "gone")))])
    view = ClusterView(store)
    await view.start()
    catalog = Catalog(store, 1, new_id=uuid.uuid4, nodes=view, default_factor=2)
    await catalog.start()
    yield Api(store, view, catalog)
    await catalog.stop()
    await view.stop()
    await store.close()


async def test_every_node_that_is_known_is_described(api: Api) -> None:
    await api.catalog.create_topic("orders", 4, {})
    status, told = await api.ask("/cluster")
    assert status == 200
    nodes = {node["id"]: node for node in told["nodes"]}
    assert [nodes[each]["alive"] for each in (1, 2, 3)] == [True, True, False]
    assert nodes[1]["kafka"] == "127.0.0.1:9001"
    assert sum(node["leads"] for node in nodes.values()) == 4
    assert [nodes[each]["copies"] for each in (1, 2, 3)] == [4, 4, 0]
    assert told["partitions"] == {"total": 4, "leaderless": 0, "under_replicated": 0}
    assert told["controller"] is None


async def test_partitions_that_are_not_as_they_should_be_are_counted(api: Api) -> None:
    topic = await api.catalog.create_topic("orders", 2, {})
    state = PartitionState(NO_LEADER, 1, replicas=(1, 2), in_sync=(2,))
    key = partition_key(topic.id, 1)
    result = await api.store.transact([], [Put(key, encode_state(state))])
    await api.catalog.follower.until(result.revision)
    _, told = await api.ask("/cluster")
    assert told["partitions"] == {"total": 2, "leaderless": 1, "under_replicated": 1}


async def test_a_node_says_when_it_does_not_know_how_things_are(api: Api) -> None:
    assert (await api.ask("/cluster"))[1]["in_touch"]
    api.in_touch = False
    status, told = await api.ask("/cluster")
    assert status == 200
    assert not told["in_touch"]
    assert [node["id"] for node in told["nodes"]] == [1, 2, 3], "what it last knew can be of use"


async def test_events_are_listed_newest_first(api: Api) -> None:
    api.events.add(Event(1_000 + each, "kind", f"node {each}", "Why.") for each in range(3))
    await api.events.written()
    status, told = await api.ask("/cluster/events?limit=2")
    assert status == 200
    assert [event["subject"] for event in told["events"]] == ["node 2", "node 1"]


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10001"])
async def test_a_limit_that_is_none_is_refused(api: Api, limit: str) -> None:
    status, told = await api.ask(f"/cluster/events?limit={limit}")
    assert status == 400
    assert "limit" in told["error"]


async def test_a_node_is_drained_and_used_again(api: Api) -> None:
    for draining in (True, False):
        body = {"draining": draining}
        assert await api.ask("/cluster/nodes/2/drain", "POST", body) == (
            200,
            {"node": 2, "draining": draining},
        )
        entry = await api.store.get(node_key(2))
        assert entry is not None
        assert json.loads(entry.value)["draining"] is draining


async def test_what_cannot_be_done_is_refused(api: Api) -> None:
    assert (await api.ask("/cluster/nodes/9/drain", "POST", {"draining": True}))[0] == 404
    assert (await api.ask("/cluster/nodes/2/drain", "POST", {"drain": True}))[0] == 400
    assert (await api.ask("/cluster/nodes/2/drain"))[0] == 405
    assert (await api.ask("/cluster", "POST"))[0] == 405
    assert (await api.ask("/cluster/nothing"))[0] == 404
