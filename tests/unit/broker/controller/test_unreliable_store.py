"""The controller over a store that often does not answer, while nodes come and go."""

import asyncio
import random
from itertools import pairwise

import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog_entries import decode_state, is_topic_key
from duolog.broker.membership.prefix_follower import PrefixFollower
from duolog.model.partition_state import PartitionState
from duolog.ports.metastore import ChangeSet, StoreUnavailable


class UnreliableStore:
    """Answers some calls not at all: half of those it has done nothing of, half are done."""

    def __init__(self, store: SqliteStore, seed: int) -> None:
        self._store = store
        self._random = random.Random(seed)
        self.failing_share = 0.0
        self.watch = store.watch
        self.revoke_lease = store.revoke_lease

    def __getattr__(self, name: str):
        call = getattr(self._store, name)

        async def sometimes(*arguments):
            if self._random.random() < self.failing_share / 2:
                raise StoreUnavailable("not sent")
            answer = await call(*arguments)
            if self._random.random() < self.failing_share / 2:
                raise StoreUnavailable("no answer")
            return answer

        return sometimes


class History:
    """Every state that a partition ever had; none may contradict an earlier one."""

    def __init__(self) -> None:
        self.states: dict[str, list[PartitionState]] = {}

    def take_in(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            if change.entry is not None and not is_topic_key(change.key):
                self.states.setdefault(change.key, []).append(decode_state(change.entry).state)

    def check(self) -> int:
        for states in self.states.values():
            leaders: dict[int, int] = {}
            for old, new in pairwise(states):
                assert new.leader_epoch - old.leader_epoch in (0, 1)
                assert new.in_sync
            for state in states:
                leader = leaders.setdefault(state.leader_epoch, state.leader)
                assert leader == state.leader, "two leaders in one epoch"
        return sum(len(states) for states in self.states.values())


@pytest.mark.parametrize("seed", range(3))
async def test_rule_02_no_epoch_ever_has_two_leaders(seed: int) -> None:
    clock = ManualClock()
    real = await SqliteStore.open(":memory:", clock)
    store = UnreliableStore(real, seed)
    bench = ClusterBench(store, clock)
    history = History()
    follower = PrefixFollower(real, "catalog/", history.take_in)
    await follower.start()
    await bench.start(1, 2, 3, 4)
    catalog = bench.nodes[1].catalog
    await eventually(lambda: len(catalog.nodes.live) == 4)
    replicas = {index: ((1, 2, 3), (2, 3, 4), (3, 4, 1))[index % 3] for index in range(9)}
    topic = await catalog.create_topic("orders", 9, {}, assignment=replicas)
    store.failing_share = 0.3
    chance = random.Random(seed)
    for number in range(12):
        # Never all of them: somebody has to be the controller.
        node = chance.choice((1, 2, 3, 4))
        if node in bench.nodes and len(bench.nodes) > 2:
            await bench.kill(node)
        elif node not in bench.nodes:
            await restart(bench, node, number)
        await asyncio.sleep(chance.random() * 0.05)
    store.failing_share = 0.0
    for node in (1, 2, 3, 4):
        if node not in bench.nodes:
            await restart(bench, node, 99)

    def is_led(state: PartitionState) -> bool:
        leader = bench.nodes.get(state.leader)
        return leader is not None and leader.membership.epoch == state.broker_epoch

    for index in range(9):
        await bench.until_state(topic.id, is_led, index)
    assert history.check() > 9, "there were elections"
    await follower.stop()
    await bench.stop()
    await real.close()


async def restart(bench: ClusterBench, node: int, number: int) -> None:
    store = bench.store
    share, store.failing_share = store.failing_share, 0.0
    await bench.begin(node, incarnation=f"{node}.{number}", stopped_cleanly=False)
    store.failing_share = share
