"""In-sync sets shrink and grow by compare-and-set, and only on what is true."""

import asyncio
from collections.abc import Sequence

import msgspec
from tests.fakes.replicas import LAG_MS_MAX, House, a_batch, eventually, write

from duolog.broker.membership.entries import CONTROLLER_EPOCH
from duolog.broker.replication.proposal import Proposal, changed_in_sync
from duolog.ports.metastore import (
    Compare,
    Delete,
    MetaStore,
    Put,
    StoreUnavailable,
    TransactionResult,
)


class FlakyStore:
    """Forwards to a store; answers of transactions can be lost, before or after they are done."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self.loses: str | None = None
        self.refused = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        if self.loses == "requests":
            raise StoreUnavailable("lost")
        result = await self._store.transact(compares, operations)
        self.refused += not result.committed
        if self.loses == "answers":
            raise StoreUnavailable("lost")
        return result


async def settle(house: House, node: int) -> None:
    """Let the leader look at its partitions now, as every second."""
    partition = house[node].partition()
    house[node].replicator.in_sync.reconsider(partition)
    await asyncio.sleep(0.05)


async def lag(house: House, node: int) -> None:
    """Let time go by in which all but the node have asked."""
    house.isolate(node)
    write(house[1].partition())
    others = [each for each in (2, 3) if each != node]
    house.clock.at_ms += LAG_MS_MAX
    await eventually(lambda: all(house[each].partition().log.end_offset for each in others))
    for each in others:
        await has_asked(house, each)
    house.clock.at_ms += 1


async def has_asked(house: House, node: int, topic: str = "t") -> None:
    """Wait until the leader has heard of the node in the present time, and that it has all."""
    leader, now_ms = house[1].partition(topic), house.clock.monotonic_ms()
    assert leader.leadership is not None
    follower = leader.leadership._followers[node]
    heard_ms = house[1].replicator.copies.heard_ms
    await eventually(
        lambda: heard_ms.get(node) == now_ms and follower.end_offset >= leader.log.end_offset
    )


async def test_who_lags_for_too_long_leaves_and_comes_back(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    leader = house[1].partition()
    await leader.append(a_batch())
    await lag(house, 3)
    await settle(house, 1)
    await eventually(lambda: leader.in_sync == (1, 2))
    assert leader.high_watermark == leader.log.end_offset
    assert (await house.state()).eligible == ()
    house.heal()
    await eventually(lambda: leader.in_sync == (1, 2, 3))
    assert house[3].content() == house[1].content()


async def test_who_leaves_a_set_that_becomes_too_small_stays_eligible(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    house.isolate(2)
    write(house[1].partition())
    house.clock.at_ms += LAG_MS_MAX + 1
    await settle(house, 1)
    await eventually(lambda: house[1].partition().in_sync == (1,))
    assert (await house.state()).eligible == (2,)
    assert house[1].partition().high_watermark == 0
    house.heal()
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    assert (await house.state()).eligible == ()


async def test_who_lags_leaves_however_much_else_there_is_to_look_at(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await house.create((1, 2), name="other")
    leader, other = house[1].partition(), house[1].partition("other")
    house.isolate(2)
    write(leader)
    house.clock.at_ms += LAG_MS_MAX + 1

    def is_out() -> bool:
        house[1].replicator.in_sync.reconsider(other)
        return leader.in_sync == (1,)

    await eventually(is_out)


async def test_eligible_ones_are_forgotten_before_more_is_committed_without_them(
    house: House,
) -> None:
    await house.start(1, 2)
    house.isolate(2)
    await house.create((1, 2), min_insync_replicas="2")
    await house.change(in_sync=(1,), eligible=(2,))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1,))
    write(leader)
    catalog = house[1].broker.catalog
    await catalog.edit_config("t", lambda given: {**given, "min.insync.replicas": "1"})
    await eventually(lambda: leader.high_watermark == 1)
    assert (await house.state()).eligible == ()


async def test_a_follower_without_anything_new_to_copy_stays(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    leader = house[1].partition()
    await leader.append(a_batch())
    house.clock.at_ms += LAG_MS_MAX + 1
    await has_asked(house, 2)
    await settle(house, 1)
    assert leader.in_sync == (1, 2)


async def test_rule_01_a_change_is_lost_when_the_state_changed_meanwhile(house: House) -> None:
    store = house.store = FlakyStore(house.store)  # type: ignore[assignment]
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="1")
    leader = house[1].partition()
    assert leader.entry is not None
    # The catalog has not told the leader yet that its entry is another one.
    state = msgspec.structs.replace(leader.entry.state, in_sync=(1, 2))
    stale = msgspec.structs.replace(leader.entry, mod_revision=leader.entry.mod_revision - 1)
    leader.entry = msgspec.structs.replace(stale, state=state)
    house.isolate(3)
    house.isolate(2)
    write(leader)
    house.clock.at_ms += LAG_MS_MAX + 1
    await settle(house, 1)
    await eventually(lambda: store.refused)
    assert (await house.state()).in_sync == (1, 2, 3)


async def test_rule_01_a_change_is_lost_when_the_controller_changed_meanwhile(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    store = house.store
    replicator = house[1].replicator

    class NewController(FlakyStore):
        async def transact(
            self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
        ) -> TransactionResult:
            await store.transact([], [Put(CONTROLLER_EPOCH, b"2")])
            return await super().transact(compares, operations)

    flaky = NewController(store)
    replicator.in_sync._store = flaky  # type: ignore[assignment]
    house.isolate(2)
    write(house[1].partition())
    house.clock.at_ms += LAG_MS_MAX + 1
    await settle(house, 1)
    await eventually(lambda: flaky.refused)
    leadership = house[1].partition().leadership
    assert leadership is not None
    await eventually(lambda: leadership.proposed is None)
    assert (await house.state()).in_sync == (1, 2)
    for _ in range(20):
        replicator.in_sync.reconsider(house[1].partition())
        await asyncio.sleep(0.01)
    assert flaky.refused <= 2, "it is not tried again before the next tick"


async def test_rule_04_a_node_that_was_started_again_does_not_enter_with_its_old_epoch(
    house: House,
) -> None:
    await house.start(1, 2, 3)
    await house.create()
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    leadership = leader.leadership
    assert leadership is not None
    stale = house.nodes.live[3].epoch
    leadership.fetched(3, stale, leader.log.end_offset, leader.log.end_offset, 0)
    await house.register(3)
    await settle(house, 1)
    assert (await house.state()).in_sync == (1, 2)
    await eventually(lambda: leadership.proposed is None)
    house.heal()
    await eventually(lambda: leader.in_sync == (1, 2, 3))


async def test_rule_04_a_node_that_is_started_again_while_it_is_let_in_does_not_enter(
    house: House,
) -> None:
    """Its new run may have fetched, before the store is asked, from wherever it is now."""
    await house.start(1, 2, 3)
    await house.create()
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    leadership = leader.leadership
    assert leadership is not None
    end_offset = leader.log.end_offset
    leadership.fetched(3, house.nodes.live[3].epoch, end_offset, end_offset, 0)
    change = changed_in_sync(leader, leadership, (1, 2, 3))
    assert change is not None
    leadership.fetched(3, await house.register(3), 0, end_offset, 0)
    proposal = Proposal([change])
    controller = Compare(CONTROLLER_EPOCH, 0)
    result = await house.store.transact(proposal.compares(controller), proposal.operations())
    assert not result.committed


async def test_what_is_known_already_settles_no_proposal(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    leader = house[1].partition()
    assert leader.entry is not None
    assert leader.leadership is not None
    leader.leadership.propose((1,))
    house[1].broker.roles.take(leader, leader.entry)
    assert leader.leadership.proposed == (1,)


async def test_rule_14_an_unknown_outcome_counts_as_both_until_the_catalog_tells(
    house: House,
) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    flaky = FlakyStore(house.store)
    house[1].replicator.in_sync._store = flaky  # type: ignore[assignment]
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    flaky.loses = "answers"
    await house[1].broker.catalog.stop()
    house.heal()
    while (await house.state()).in_sync != (1, 2, 3):
        await asyncio.sleep(0.002)
    house.isolate(3)
    end_offset = write(leader)
    await eventually(lambda: house[2].partition().log.durable_offset == end_offset)
    await asyncio.sleep(0.1)
    assert leader.in_sync == (1, 2)
    assert leader.high_watermark < end_offset


async def test_a_request_that_was_lost_is_made_again(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    flaky = FlakyStore(house.store)
    house[1].replicator.in_sync._store = flaky  # type: ignore[assignment]
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    flaky.loses = "requests"
    house.heal()
    leadership = leader.leadership
    assert leadership is not None
    await eventually(lambda: leadership.proposed == (1, 2, 3))
    flaky.loses = None
    await eventually(lambda: leader.in_sync == (1, 2, 3))


async def test_an_answer_that_was_lost_is_found_out(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    flaky = FlakyStore(house.store)
    house[1].replicator.in_sync._store = flaky  # type: ignore[assignment]
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    flaky.loses = "answers"
    house.heal()
    await eventually(lambda: leader.in_sync == (1, 2, 3))
    flaky.loses = None
    async with asyncio.timeout(10):
        await leader.append(a_batch())


async def test_an_asynchronous_replica_is_never_let_in(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(async_replicas="1")
    leader = house[1].partition()
    await leader.append(a_batch())
    await eventually(lambda: house[3].partition().log.end_offset == 1)
    await settle(house, 1)
    assert (await house.state()).in_sync == (1, 2)
    house.isolate(3)
    async with asyncio.timeout(10):
        await leader.append(a_batch())


async def test_companions_enter_and_leave_together(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    catalog = house[1].broker.catalog
    await catalog.create_topic("__queue.t", 1, {}, beside="t")
    data, journal = house[1].partition(), house[1].partition("__queue.t")
    await eventually(lambda: ("__queue.t", 0) in house[3].broker.routes)
    house.isolate(3)
    write(journal)
    house.clock.at_ms += LAG_MS_MAX + 1
    await has_asked(house, 2, "__queue.t")
    await asyncio.sleep(0.1)
    write(data)
    await settle(house, 1)
    await eventually(lambda: data.in_sync == journal.in_sync == (1, 2))
    house.heal()
    await eventually(lambda: data.in_sync == journal.in_sync == (1, 2, 3))
