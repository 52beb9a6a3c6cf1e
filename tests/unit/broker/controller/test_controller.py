import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog_entries import (
    Topic,
    encode_state,
    encode_topic,
    partition_key,
    topic_key,
)
from duolog.broker.controller.candidacy import Deposed, stand
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.image_follower import ImageFollower
from duolog.broker.controller.performing import Performer
from duolog.broker.membership.entries import CONTROLLER_EPOCH, broker_key
from duolog.config.topic import parse_topic_config
from duolog.core.controller.settlement import settlement
from duolog.model.partition_state import NO_LEADER, PartitionState
from duolog.ports.metastore import Compare, Delete, Put, StoreUnavailable


@pytest.fixture
async def bench():
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    bench = ClusterBench(store, clock)
    yield bench
    await bench.stop()
    await store.close()


async def topic_on(bench: ClusterBench, *replicas: int, name: str = "orders") -> uuid.UUID:
    catalog = bench.any_of(replicas).catalog
    await eventually(lambda: all(node in catalog.nodes.live for node in replicas))
    topic = await catalog.create_topic(name, 1, {}, assignment={0: replicas})
    return topic.id


async def test_one_of_the_nodes_is_the_controller(bench) -> None:
    await bench.start(1, 2, 3)
    epoch = await bench.store.get(CONTROLLER_EPOCH)
    assert epoch.value == b"1"
    ruling = bench.controller.id
    for node in bench.nodes.values():
        await eventually(lambda node=node: node.cluster.controller == ruling)
        assert node.cluster.controller_epoch_revision == epoch.mod_revision


async def test_a_leader_that_the_others_cannot_reach_is_replaced_while_it_lives(bench) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    await bench.cut_off(1)
    state = await bench.until_state(topic, lambda state: state.leader != 1)
    assert (state.leader, state.leader_epoch, state.in_sync) == (2, 1, (2, 3))
    assert 1 in bench.any_of((2, 3)).cluster.live


async def test_a_new_partition_is_not_led_by_a_node_that_the_others_cannot_reach(bench) -> None:
    await bench.start(1, 2, 3)
    await bench.cut_off(1)
    catalog = bench.nodes[2].catalog
    await eventually(lambda: len(catalog.nodes.live) == 3 and len(catalog.nodes.statements) == 2)
    topic = await catalog.create_topic("orders", 6, {}, replication_factor=2)
    for index in range(6):
        assert 1 not in (await bench.state(topic.id, index)).replicas


async def test_a_lost_leader_is_replaced(bench) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 2, 3, 1)
    await bench.kill(2)
    state = await bench.until_state(topic, lambda state: state.leader != 2)
    assert (state.leader, state.leader_epoch, state.in_sync) == (3, 1, (3, 1))
    assert state.broker_epoch == bench.nodes[3].membership.epoch


async def test_a_lost_controller_is_replaced_and_what_it_led_too(bench) -> None:
    await bench.start(1, 2, 3)
    ruling = bench.controller.id
    others = [node for node in (1, 2, 3) if node != ruling]
    topic = await topic_on(bench, ruling, *others)
    await bench.kill(ruling)
    state = await bench.until_state(topic, lambda state: state.leader != ruling)
    assert state.leader == others[0]
    assert (await bench.store.get(CONTROLLER_EPOCH)).value == b"2"


async def test_a_node_that_was_alone_leads_again_when_it_is_back(bench) -> None:
    await bench.start(1, 2)
    topic = await topic_on(bench, 2)
    await bench.kill(2)
    await bench.until_state(topic, lambda state: state.leader == NO_LEADER)
    await bench.start(2, incarnation="2.2", stopped_cleanly=False)
    state = await bench.until_state(topic, lambda state: state.leader == 2)
    assert (state.leader_epoch, state.in_sync) == (2, (2,))


async def test_after_a_power_cut_everything_is_led_again(bench) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    for node in (3, 1, 2):
        # All controllers are gone before anybody can decide anything.
        await bench.nodes[node].controller.stop()
    for node in (3, 1, 2):
        await bench.kill(node)
    assert (await bench.state(topic)).leader == 1
    for node in (1, 2, 3):
        await bench.begin(node, incarnation=f"{node}.2", stopped_cleanly=False)
    state = await bench.until_state(topic, lambda state: state.leader_epoch > 0)
    assert state.leader == 1
    assert state.broker_epoch == bench.nodes[1].membership.epoch
    state = await bench.until_state(topic, lambda state: len(state.in_sync) == 1)
    assert state.in_sync == (1,), "the others have to catch up first"


async def test_rule_04_an_emptied_disk_neither_leads_nor_is_in_sync(bench) -> None:
    await bench.start(1, 2)
    topic = await topic_on(bench, 2)
    await bench.kill(2)
    await bench.start(2, incarnation="2.2", directory="an empty one")
    state = await bench.until_state(topic, lambda state: not state.in_sync)
    assert state.leader == NO_LEADER
    await bench.controller.controller.events.written()
    kinds = await bench.event_kinds()
    assert kinds.index("node lost") < kinds.index("leader lost") < kinds.index("data lost")


class Hands:
    """A controller whose every move is the test's. It thinks that node 1 is lost."""

    async def take(self, bench: ClusterBench) -> "Hands":
        ruling = bench.controller
        await ruling.controller.stop()
        term = await stand(bench.store, ruling.membership)
        assert term is not None, "it recalls that it was elected"
        self.follower = ImageFollower(bench.store, {})
        await self.follower.start()
        view = self.follower.view
        events = EventLog(bench.store, ruling.id)
        self.performer = Performer(bench.store, term, view, events, ruling.controller.counts)
        image = view.image()
        live = {node: live for node, live in image.live.items() if node != 1}
        self.decisions = settlement(replace(image, live=live), 0)
        assert len(self.decisions) == 1
        return self


@pytest.fixture
async def hands():
    hands = Hands()
    yield hands
    await hands.follower.stop()


async def test_a_decision_is_performed_while_nothing_has_changed(bench, hands) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    await hands.take(bench)
    assert await hands.performer.perform(hands.decisions)
    assert (await bench.state(topic)).leader == 2


async def test_rule_01_the_decision_of_an_old_controller_is_refused(bench, hands) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    await hands.take(bench)
    before = await bench.state(topic)
    await bench.store.transact([], [Put(CONTROLLER_EPOCH, b"2")])
    with pytest.raises(Deposed):
        await hands.performer.perform(hands.decisions)
    assert await bench.state(topic) == before


async def test_rule_01_a_decision_upon_an_old_state_is_refused(bench, hands) -> None:
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    await hands.take(bench)
    state = msgspec.structs.replace(await bench.state(topic), in_sync=(1, 3))
    await bench.store.transact([], [Put(partition_key(topic, 0), encode_state(state))])
    assert not await hands.performer.perform(hands.decisions), "2 has left the set since"
    assert await bench.state(topic) == state


async def test_rule_02_whom_a_decision_elects_must_still_be_the_same(bench, hands) -> None:
    """Had it registered anew since, its disk may be another one."""
    await bench.start(1, 2, 3)
    topic = await topic_on(bench, 1, 2, 3)
    await hands.take(bench)
    registered = await bench.store.get(broker_key(2))
    await bench.store.transact([], [Put(broker_key(2), registered.value)])
    assert not await hands.performer.perform(hands.decisions)
    assert (await bench.state(topic)).leader == 1


async def test_rule_02_a_controller_that_was_replaced_unknown_to_itself_stops(bench) -> None:
    await bench.start(1, 2, 3)
    ruling = bench.controller
    await bench.store.transact([], [Put(CONTROLLER_EPOCH, b"7")])
    await eventually(lambda: ruling.controller.term is None)


async def test_an_unknown_outcome_is_looked_up_before_anything_is_decided(
    bench, monkeypatch
) -> None:
    await bench.start(1, 2, 3)
    ruling = bench.controller.id
    lost, *others = [node for node in (1, 2, 3) if node != ruling] + [ruling]
    topic = await topic_on(bench, lost, *others)
    transact = bench.store.transact
    silent = 0

    async def commit_and_say_nothing(compares, operations):
        nonlocal silent
        result = await transact(compares, operations)
        if any("partitions" in operation.key for operation in operations):
            silent += 1
            raise StoreUnavailable("no answer")
        return result

    monkeypatch.setattr(bench.store, "transact", commit_and_say_nothing)
    await bench.kill(lost)
    await bench.until_state(topic, lambda state: state.leader == others[0])
    await asyncio.sleep(0.3)
    assert (await bench.state(topic)).leader_epoch == 1, "elected once"
    assert silent == 1


async def test_rule_04_nobody_is_taken_in_upon_an_old_catalog(bench, monkeypatch) -> None:
    """A node is let into the in-sync set, its disk is emptied, and the controller hears of the
    registration first."""
    watch = bench.store.watch

    def without_catalog(prefix, from_revision):
        return watch("nothing/" if prefix.startswith("catalog/") else prefix, from_revision)

    await bench.start(1, 2)
    if bench.controller.id != 1:
        await bench.kill(2)
        await eventually(lambda: bench.controller is not None)
        await bench.start(2, incarnation="2.2")
    topic = await topic_on(bench, 1, 2)
    state = await bench.state(topic)
    monkeypatch.setattr(bench.store, "watch", without_catalog)
    await bench.nodes[1].controller.stop()
    await bench.nodes[1].controller.start()
    await eventually(lambda: bench.nodes[1].controller.term is not None)
    key = partition_key(topic, 0)
    await bench.kill(2)
    state = await bench.until_state(topic, lambda state: state.in_sync == (1,))
    back = msgspec.structs.replace(state, in_sync=(1, 2))
    await bench.store.transact([], [Put(key, encode_state(back))])
    await bench.start(2, incarnation="2.3", directory="an empty one")
    assert (await bench.state(topic)).in_sync == (1,)


async def make_topics(bench: ClusterBench, count: int) -> uuid.UUID:
    """Partitions on nodes 1 to 3, each led by the first."""
    topic_id = uuid.UUID(int=1 << 100)
    epoch = bench.nodes[1].membership.epoch
    state = PartitionState(1, 0, (1, 2, 3), (1, 2, 3), broker_epoch=epoch)
    puts = [Put(partition_key(topic_id, index), encode_state(state)) for index in range(count)]
    topic = Topic("many", topic_id, count, {}, parse_topic_config({}), False, 0)
    puts.append(Put(topic_key("many"), encode_topic(topic)))
    for first in range(0, len(puts), 128):
        await bench.store.transact([], puts[first : first + 128])
    return topic_id


class Cost(NamedTuple):
    transactions: int
    cpu_seconds: float
    """Not the time on a clock, which is that of a busy machine."""


async def cost_of_fail_over(
    bench: ClusterBench, topic: uuid.UUID, count: int, monkeypatch: pytest.MonkeyPatch
) -> Cost:
    """Until every partition that node 1 led has another leader."""
    transactions = 0
    transact = bench.store.transact

    async def counted(compares: Sequence[Compare], operations: Sequence[Put | Delete]) -> Any:
        nonlocal transactions
        transactions += 1
        return await transact(compares, operations)

    monkeypatch.setattr(bench.store, "transact", counted)
    began = time.process_time()
    await bench.kill(1)

    async def all_elected() -> bool:
        states = [await bench.state(topic, index) for index in (0, count // 2, count - 1)]
        return all(state.leader == 2 for state in states)

    await bench.until(all_elected)
    return Cost(transactions, time.process_time() - began)


async def test_a_hundred_partitions_get_new_leaders_at_once(
    bench: ClusterBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.start(2, 3, 1)
    topic = await make_topics(bench, 100)
    cost = await cost_of_fail_over(bench, topic, 100, monkeypatch)
    assert cost.transactions <= 5
    assert cost.cpu_seconds < 0.5


async def test_a_controller_that_fails_with_a_thousand_partitions_is_replaced_in_time(
    bench: ClusterBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.start(1, 2, 3)
    assert bench.controller is not None
    assert bench.controller.id == 1
    topic = await make_topics(bench, 1_000)
    cost = await cost_of_fail_over(bench, topic, 1_000, monkeypatch)
    assert cost.transactions <= 20
    assert cost.cpu_seconds < 1.5
