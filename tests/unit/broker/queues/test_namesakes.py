"""A queue that has the name of a deleted one has nothing else of it, and loses nothing to it."""

import asyncio
import uuid

import pytest
from tests.fakes.queue_cluster import QueueCluster, QueueNode, bodies
from tests.fakes.replicas import eventually

from duolog.broker.queues.catalog_entries import queue_key
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.model.names import queue_state_topic
from duolog.model.queue_errors import QueueNameExists
from duolog.ports.metastore import Compare


def hold_removals(node: QueueNode, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Whatever the node is about to remove waits for the event."""
    go_on = asyncio.Event()
    remove = node.broker.catalog.remove_topic

    async def later(name: str, topic_id: uuid.UUID, given: list[Compare] | None = None) -> None:
        await go_on.wait()
        await remove(name, topic_id, given or [])

    monkeypatch.setattr(node.broker.catalog, "remove_topic", later)
    return go_on


async def test_a_slow_deletion_leaves_the_next_queue_of_the_name_alone(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = cluster.node(1), cluster.node(2)
    await one.create("work")
    await cluster.known("work")
    await one.send("work", Outgoing("old"))
    await one.receive("work")
    go_on = hold_removals(one, monkeypatch)
    deleting = asyncio.create_task(one.queues.delete("work"))
    await eventually(lambda: "work" in two.queues.catalog.deleted)
    await two.create("work")
    await cluster.known("work")
    await two.send("work", Outgoing("new"))
    go_on.set()
    await deleting
    assert bodies(await two.receive("work", wait_ms=2_000)) == ["new"]
    assert bodies(await one.receive("work")) == []
    assert "work" in one.queues.catalog.queues


async def test_a_node_that_has_not_heard_of_the_deletion_makes_the_queue_anew(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = cluster.node(1), cluster.node(2)
    await one.create("work")
    await cluster.known("work")
    await one.send("work", Outgoing("old"))
    go_on = hold_removals(one, monkeypatch)
    act, heard = two.queues.catalog.follower.act, asyncio.Event()

    async def late(change: object) -> None:
        await heard.wait()
        await act(change)  # type: ignore[arg-type]

    monkeypatch.setattr(two.queues.catalog.follower, "act", late)
    deleting = asyncio.create_task(one.queues.delete("work"))
    await eventually(lambda: "work" in one.queues.catalog.deleted)
    creating = asyncio.create_task(two.create("work"))
    await asyncio.sleep(0.05)
    heard.set()
    await creating
    go_on.set()
    await deleting
    await cluster.known("work")
    await one.send("work", Outgoing("new"))
    assert bodies(await two.receive("work", wait_ms=2_000)) == ["new"]


async def test_no_journal_is_made_for_a_queue_that_was_deleted_meanwhile(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cluster.node(1)
    await one.create("work")
    await cluster.known("work")
    await one.send("work", Outgoing("old"))
    leader = cluster.leader("work")
    begin, begun = leader.broker.catalog.placement.begin, asyncio.Event()

    def deleted_meanwhile(*args: object) -> object:
        begun.set()
        return begin(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(leader.broker.catalog.placement, "begin", deleted_meanwhile)
    act, heard = leader.queues.catalog.follower.act, asyncio.Event()

    async def late(change: object) -> None:
        await heard.wait()
        await act(change)  # type: ignore[arg-type]

    other = next(node for node in cluster.living if node is not leader)
    monkeypatch.setattr(leader.queues.catalog.follower, "act", late)
    await other.queues.catalog.delete("work", 0)
    receiving = asyncio.create_task(leader.receive("work"))
    await begun.wait()
    await asyncio.sleep(0.05)
    heard.set()
    with pytest.raises(Refusal):
        await receiving
    assert queue_state_topic("work") not in other.broker.catalog.topics


async def test_whoever_loses_a_race_leaves_the_winners_topic(cluster: QueueCluster) -> None:
    one, two = cluster.node(1), cluster.node(2)
    creations = await asyncio.gather(
        one.create("work", DelaySeconds="1"),
        two.create("work", DelaySeconds="2"),
        return_exceptions=True,
    )
    assert [type(each) for each in creations if each is not None] == [QueueNameExists]
    await cluster.known("work")
    stored = await cluster.store.get(queue_key("work"))
    assert stored is not None
    assert one.queues.catalog.get("work").topic_id == one.broker.catalog.get("work").id
