"""Any node answers any request of a queue whose partitions are led by several."""

import asyncio

import pytest
from tests.fakes.queue_cluster import ACCOUNT, REGION, QueueCluster, bodies
from tests.fakes.replicas import eventually

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.core.queues.message import Outgoing
from duolog.core.queues.routing import partition_for_group
from duolog.model.queue_errors import (
    QueueDoesNotExist,
    ReceiptHandleIsInvalid,
    UnsupportedOperation,
)

HIGH_THROUGHPUT = {
    "FifoQueue": "true",
    "DeduplicationScope": "messageGroup",
    "FifoThroughputLimit": "perMessageGroupId",
}


async def make_spread(cluster: QueueCluster, name: str = "work", **attributes: str) -> None:
    """A queue with a partition on each node."""
    await cluster.node(1).broker.catalog.create_topic(
        name, 3, {}, assignment={0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
    )
    await cluster.node(1).create(name, **attributes)
    await cluster.known(name)


async def drain(cluster: QueueCluster, name: str, at: int) -> list[str]:
    found = []
    while received := await cluster.node(at).receive(name):
        found += bodies(received)
        assert set(
            await cluster.node(at).delete(name, *(each.receipt_handle for each in received))
        ) == {None}
    return found


async def test_a_queue_that_one_node_leads_is_used_there_without_a_detour(
    cluster: QueueCluster,
) -> None:
    await cluster.node(1).broker.catalog.create_topic("work", 1, {}, assignment={0: (2, 1, 3)})
    await cluster.node(1).create("work")
    await cluster.known("work")
    assert [type(node.queues.get("work")) for node in cluster.living] == [
        RoutedQueue,
        Queue,
        RoutedQueue,
    ]


async def test_messages_sent_anywhere_are_received_and_deleted_anywhere(
    cluster: QueueCluster,
) -> None:
    await make_spread(cluster)
    for node in cluster.living:
        await node.send("work", *(Outgoing(f"{node.id}-{each}") for each in range(10)))
    assert await cluster.node(2).counts("work") == (30, 0, 0)
    expected = {f"{node}-{each}" for node in (1, 2, 3) for each in range(10)}
    taken = []
    while received := await cluster.node(3).receive("work"):
        taken += received
    assert set(bodies(taken)) == expected
    assert len(taken) == 30
    assert await cluster.node(1).counts("work") == (0, 30, 0)
    results = await cluster.node(1).delete("work", *(each.receipt_handle for each in taken))
    assert results == [None] * 30
    assert await cluster.node(2).counts("work") == (0, 0, 0)


async def test_a_node_that_leads_nothing_of_the_queue_serves_it_too(cluster: QueueCluster) -> None:
    await cluster.node(1).broker.catalog.create_topic("work", 1, {}, assignment={0: (2,)})
    await cluster.node(1).create("work")
    await cluster.known("work")
    (sent,) = await cluster.node(3).send("work", Outgoing("a"))
    (received,) = await cluster.node(1).receive("work")
    assert received.message_id == sent.message_id
    assert await cluster.node(3).hide("work", received.receipt_handle, 0) == [None]
    (again,) = await cluster.node(3).receive("work")
    assert again.receive_count == 2
    (refusal,) = await cluster.node(1).delete("work", "nonsense")
    assert isinstance(refusal, ReceiptHandleIsInvalid)


@pytest.mark.parametrize("sender", [1, 2, 3])
async def test_a_long_poll_is_served_by_whoever_gets_a_message(
    cluster: QueueCluster, sender: int
) -> None:
    await make_spread(cluster)
    polls = [asyncio.ensure_future(node.receive("work", wait_ms=10_000)) for node in cluster.living]
    await asyncio.sleep(0.05)
    await cluster.node(sender).send("work", *(Outgoing(str(each)) for each in range(3)))
    done, waiting = await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
    found = [body for poll in done for body in bodies(poll.result())]
    while len(found) < 3:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        found += [body for poll in done for body in bodies(poll.result())]
    assert sorted(found) == ["0", "1", "2"]
    assert await cluster.node(1).counts("work") == (0, 3, 0)
    for poll in waiting:
        poll.cancel()


async def test_nothing_is_handed_out_that_was_not_asked_for(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    for node in cluster.living:
        await node.send("work", Outgoing("a"))
    assert len(await cluster.node(2).receive("work", 1)) == 1
    assert await cluster.node(2).counts("work") == (2, 1, 0)


async def test_an_empty_long_poll_ends_in_its_time(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    async with asyncio.timeout(20):
        assert await cluster.node(1).receive("work", wait_ms=100) == []


async def test_groups_keep_their_order_through_all_nodes(cluster: QueueCluster) -> None:
    await make_spread(cluster, "work.fifo", **HIGH_THROUGHPUT)
    groups = "abcdefgh"
    assert len({partition_for_group(each.encode(), 3) for each in groups}) == 3
    for number in range(6):
        node = cluster.node(number % 3 + 1)
        for group in groups:
            message = Outgoing(str(number), group_id=group, deduplication_id=str(number))
            await node.send("work.fifo", message)
            # Whoever did not get the answer sends it again, through another node.
            again = await cluster.node((number + 1) % 3 + 1).send("work.fifo", message)
            assert again == await node.send("work.fifo", message)
    seen: dict[str, list[str]] = {}
    for turn in range(200):
        node = cluster.node(turn % 3 + 1)
        received = await node.receive("work.fifo", 2)
        for each in received:
            seen.setdefault(each.message.group_id or "", []).append(each.message.body)
        await node.delete("work.fifo", *(each.receipt_handle for each in received))
        if sum(map(len, seen.values())) == 6 * len(groups):
            break
    assert seen == {group: [str(each) for each in range(6)] for group in groups}


async def test_an_attempt_gets_the_same_through_any_node(cluster: QueueCluster) -> None:
    await make_spread(cluster, "work.fifo", **HIGH_THROUGHPUT)
    for group in "abcdef":
        await cluster.node(1).send(
            "work.fifo", Outgoing(group, group_id=group, deduplication_id="1")
        )
    first = await cluster.node(1).receive("work.fifo", 1, attempt="try")
    for node in cluster.living:
        assert bodies(await node.receive("work.fifo", 1, attempt="try")) == bodies(first)


async def test_a_purge_reaches_every_node(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    for node in cluster.living:
        await node.send("work", Outgoing("a"), Outgoing("b"))
    assert await cluster.node(2).queues.purge("work") == 6
    assert await cluster.node(3).counts("work") == (0, 0, 0)


async def test_deleted_messages_of_all_nodes_are_replayed(cluster: QueueCluster) -> None:
    await make_spread(cluster, **{"duolog:RetainDeleted": "3600"})
    for node in cluster.living:
        await node.send("work", Outgoing(str(node.id)))
    assert sorted(await drain(cluster, "work", 1)) == ["1", "2", "3"]
    cluster.clock.at_ms += 10
    now_ms = cluster.clock.now_ms()
    assert await cluster.node(1).queues.replay("work", 0, now_ms) == 3
    assert sorted(await drain(cluster, "work", 2)) == ["1", "2", "3"]


async def test_messages_are_looked_at_and_found_wherever_they_are(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    for node in cluster.living:
        (sent,) = await node.send("work", Outgoing(str(node.id)))
        found = await cluster.node(1).queues.find_message("work", sent.message_id)
        assert found is not None
        assert found.message.body == str(node.id)
        page = await cluster.node(2).queues.look(
            "work", partition=found.partition, from_offset=0, limit=10, state="ready"
        )
        assert [each.message.body for each in page.messages] == [str(node.id)]


async def test_dead_letters_go_to_a_queue_that_is_led_elsewhere_and_come_back(
    cluster: QueueCluster,
) -> None:
    one = cluster.node(1)
    await one.broker.catalog.create_topic("dead", 1, {}, assignment={0: (3,)})
    await one.create("dead")
    await cluster.known("dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await make_spread(cluster, RedrivePolicy=policy)
    for node in cluster.living:
        await node.send("work", Outgoing(str(node.id)))
    taken = []
    while received := await cluster.node(2).receive("work", visibility_ms=1):
        taken += received
    assert len(taken) == 3
    cluster.clock.at_ms += 10
    for node in cluster.living:
        for queue in node.queues.all():
            for partition in queue.partitions:
                queue.look_at_time(partition, cluster.clock.now_ms())
    await eventually(lambda: cluster.node(3).queues.local("dead").counts().ready == 3)
    assert (await cluster.node(1).counts("work")) == (0, 0, 0)


async def test_a_deleted_queue_is_gone_for_all(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    await cluster.node(2).queues.delete("work")
    for node in cluster.living:
        await eventually(lambda node=node: node.queues.find("work") is None)
        with pytest.raises(QueueDoesNotExist):
            node.queues.get("work")


async def test_whoever_waits_at_a_queue_is_told_when_it_is_deleted(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    poll = asyncio.ensure_future(cluster.node(3).receive("work", wait_ms=10_000))
    await asyncio.sleep(0.05)
    await cluster.node(1).queues.delete("work")
    async with asyncio.timeout(8):
        with pytest.raises(QueueDoesNotExist):
            await poll


async def test_a_client_that_goes_takes_nothing_with_it(cluster: QueueCluster) -> None:
    await make_spread(cluster)
    answers: list[object] = []
    gone = (
        cluster.node(1)
        .queues.get("work")
        .receive(count=1, wait_ms=10_000, visibility_ms=None, attempt=None, done=answers.append)
    )
    poll = asyncio.ensure_future(cluster.node(1).receive("work", wait_ms=10_000))
    await asyncio.sleep(0.05)
    gone.abandon()
    await cluster.node(2).send("work", Outgoing("a"))
    assert bodies(await poll) == ["a"]
    assert answers == []


async def test_messages_of_all_nodes_are_moved_and_any_node_tells_how_far(
    cluster: QueueCluster,
) -> None:
    await make_spread(cluster, "dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await cluster.node(2).create("work", RedrivePolicy=policy)
    await cluster.known("work")
    for node in cluster.living:
        await node.send("dead", *(Outgoing(f"{node.id}-{each}") for each in range(5)))
    handle = await cluster.node(3).queues.move_tasks.start("dead", "work", None)

    def is_over() -> bool:
        tasks = cluster.node(2).queues.move_tasks.list("dead", 10)
        return [(each.handle, each.status) for each in tasks] == [(handle, "COMPLETED")]

    await eventually(is_over)
    (task,) = cluster.node(2).queues.move_tasks.list("dead", 10)
    assert task.moved == 15
    assert await cluster.node(1).counts("dead") == (0, 0, 0)
    assert await cluster.node(1).counts("work") == (15, 0, 0)


async def test_a_move_is_cancelled_from_any_node(cluster: QueueCluster) -> None:
    await make_spread(cluster, "dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await cluster.node(2).create("work", RedrivePolicy=policy)
    await cluster.known("work")
    await cluster.node(1).send("dead", *(Outgoing(str(each)) for each in range(10)))
    handle = await cluster.node(3).queues.move_tasks.start("dead", "work", 1)
    await eventually(lambda: cluster.node(2).queues.move_tasks.board.find(handle) is not None)
    moved = await cluster.node(2).queues.move_tasks.cancel(handle)
    assert moved < 10
    (task,) = cluster.node(2).queues.move_tasks.list("dead", 10)
    assert task.status == "CANCELLED"


async def test_a_move_goes_on_where_the_queue_is_led_next(cluster: QueueCluster) -> None:
    await cluster.node(1).broker.catalog.create_topic("dead", 1, {}, assignment={0: (1, 2, 3)})
    await cluster.node(1).create("dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await cluster.known("dead")
    await cluster.node(1).broker.catalog.create_topic("work", 1, {}, assignment={0: (3,)})
    await cluster.node(1).create("work", RedrivePolicy=policy)
    await cluster.known("work")
    await cluster.node(1).send("dead", *(Outgoing(str(each)) for each in range(10)))
    await cluster.node(1).queues.move_tasks.start("dead", "work", 20)
    await cluster.elect_all("dead", 0, 2)

    def is_over() -> bool:
        (task,) = cluster.node(3).queues.move_tasks.list("dead", 10)
        return task.status == "COMPLETED"

    await eventually(is_over)
    assert sorted(await drain(cluster, "work", 2)) == [str(each) for each in range(10)]


async def test_of_two_nodes_that_begin_a_move_at_once_one_does(cluster: QueueCluster) -> None:
    await make_spread(cluster, "dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await cluster.node(2).create("work", RedrivePolicy=policy)
    await cluster.known("work")
    await cluster.node(1).send("dead", *(Outgoing(str(each)) for each in range(10)))
    begun = await asyncio.gather(
        *(node.queues.move_tasks.start("dead", "work", None) for node in cluster.living),
        return_exceptions=True,
    )
    refused = [each for each in begun if isinstance(each, UnsupportedOperation)]
    assert len(refused) == 2
    await eventually(lambda: is_moved(cluster, "dead", 1))
    assert sorted(await drain(cluster, "work", 3)) == [str(each) for each in range(10)]


async def test_after_a_move_the_next_one_may_begin(cluster: QueueCluster) -> None:
    await make_spread(cluster, "dead")
    policy = f'{{"deadLetterTargetArn":"arn:aws:sqs:{REGION}:{ACCOUNT}:dead","maxReceiveCount":1}}'
    await cluster.node(2).create("work", RedrivePolicy=policy)
    await cluster.known("work")
    for number, node in enumerate(cluster.living, 1):
        await node.send("dead", Outgoing("again"))
        await node.queues.move_tasks.start("dead", "work", None)
        await eventually(lambda number=number: is_moved(cluster, "dead", number))
    handle = await cluster.node(1).queues.move_tasks.start("dead", "work", None)
    assert handle
    await cluster.node(3).queues.delete("dead")
    stored = await cluster.store.range("queue-mov")
    assert stored.entries == ()


def is_moved(cluster: QueueCluster, source: str, times: int) -> bool:
    """Whether all nodes know of so many moves, and that all of them are over."""
    listed = [node.queues.move_tasks.list(source, 10) for node in cluster.living]
    return all(len(tasks) == times and all(each.is_over for each in tasks) for tasks in listed)
