import asyncio
import itertools
import json
import uuid
from collections.abc import Callable

import pytest

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog import Catalog, Topic
from duolog.broker.catalog_entries import TOPICS_PREFIX, encode_state, partition_key
from duolog.model.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidTopic,
    PolicyViolation,
    RequestTimedOut,
    TopicExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.ports.metastore import Put

NODE = 7


class ManualClock:
    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.001)


class Recorder:
    """A listener that also notes whether the catalog already shows what it is told of."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.told: list[tuple[str, str, bool]] = []

    def _note(self, what: str, topic: Topic) -> None:
        self.told.append((what, topic.name, topic.name in self._catalog.topics))

    async def topic_created(self, topic: Topic) -> None:
        await asyncio.sleep(0)
        self._note("created", topic)

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        await asyncio.sleep(0)
        self._note(f"changed {old.partitions}->{new.partitions}", new)

    async def topic_deleted(self, topic: Topic) -> None:
        await asyncio.sleep(0)
        self._note("deleted", topic)

    async def partition_changed(self, topic: Topic, index: int, entry: PartitionEntry) -> None:
        self._note(f"partition {index} led by {entry.state.leader}", topic)


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock(), history_revisions_max=20)
    yield store
    await store.close()


@pytest.fixture
async def new_catalog(store):
    made = []
    numbers = itertools.count(1)

    async def make(**options) -> Catalog:
        catalog = Catalog(store, NODE, new_id=lambda: uuid.UUID(int=next(numbers)), **options)
        catalog.recorder = Recorder(catalog)
        catalog.subscribe(catalog.recorder)
        await catalog.start()
        made.append(catalog)
        return catalog

    yield make
    for catalog in made:
        await catalog.stop()


@pytest.fixture
async def catalog(new_catalog):
    return await new_catalog()


async def test_a_created_topic_can_be_found_at_once(catalog):
    topic = await catalog.create_topic("orders", 3, {"retention.ms": "1000"})
    assert catalog.get("orders") is topic
    assert catalog.by_id(topic.id) is topic
    assert list(catalog.topics) == ["orders"]
    assert (topic.partitions, topic.internal) == (3, False)
    assert topic.overrides == {"retention.ms": "1000"}
    assert topic.config.retention_ms == 1000


async def test_a_new_partition_is_led_by_this_node_alone(catalog):
    topic = await catalog.create_topic("orders", 2, {})
    for index in range(2):
        state = catalog.partition_state(topic, index)
        assert (state.leader, state.leader_epoch) == (NODE, 0)
        assert state.replicas == state.in_sync == (NODE,)
    with pytest.raises(UnknownTopicOrPartition):
        catalog.partition_state(topic, 2)


async def test_a_topic_is_found_only_after_the_listeners_acted_on_it(catalog):
    await catalog.create_topic("orders", 1, {})
    assert catalog.recorder.told == [("created", "orders", False)]


async def test_a_topic_is_gone_before_the_listeners_take_it_down(catalog):
    await catalog.create_topic("orders", 1, {})
    await catalog.delete_topic("orders")
    assert catalog.recorder.told[-1] == ("deleted", "orders", False)
    with pytest.raises(UnknownTopicOrPartition):
        catalog.get("orders")


async def test_deleting_removes_every_trace_from_the_store(catalog, store):
    await catalog.create_topic("orders", 300, {})
    await catalog.delete_topic("orders")
    assert (await store.range("")).entries == ()


async def test_an_existing_name_is_refused(catalog):
    await catalog.create_topic("orders", 1, {})
    with pytest.raises(TopicExists):
        await catalog.create_topic("orders", 1, {})


async def test_names_that_differ_in_dots_and_underscores_collide(catalog):
    await catalog.create_topic("a.b_c", 1, {})
    with pytest.raises(InvalidTopic, match=r"a\.b_c"):
        await catalog.create_topic("a_b.c", 1, {})
    await catalog.create_topic("a-b-c", 1, {})


async def test_concurrent_creators_of_colliding_names_do_not_both_win(new_catalog):
    here, there = await new_catalog(), await new_catalog()
    results = await asyncio.gather(
        here.create_topic("a.b", 1, {}),
        here.create_topic("a_b", 1, {}),
        there.create_topic("a.b", 1, {}),
        there.create_topic("a_b", 1, {}),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Topic) for result in results) == 1
    assert all(isinstance(result, Topic | TopicExists | InvalidTopic) for result in results)


@pytest.mark.parametrize("name", ["", ".", "a/b", "x" * 250])
async def test_an_illegal_name_is_refused(catalog, name):
    with pytest.raises(InvalidTopic):
        await catalog.create_topic(name, 1, {})


@pytest.mark.parametrize("count", [0, -1, 10_001])
async def test_a_partition_count_out_of_bounds_is_refused(catalog, count):
    with pytest.raises(InvalidPartitions):
        await catalog.create_topic("orders", count, {})


async def test_a_bad_setting_is_refused_and_nothing_is_stored(catalog, store):
    with pytest.raises(InvalidConfig, match=r"retention\.ms"):
        await catalog.create_topic("orders", 1, {"retention.msec": "1"})
    assert (await store.range("")).entries == ()


async def test_validation_alone_stores_nothing(catalog, store):
    topic = await catalog.create_topic("orders", 3, {"retention.ms": "1"}, validate_only=True)
    assert (topic.partitions, topic.config.retention_ms) == (3, 1)
    assert (await store.range("")).entries == ()


async def test_a_topic_with_more_partitions_than_one_transaction_holds(catalog):
    topic = await catalog.create_topic("wide", 300, {})
    assert catalog.partition_state(topic, 299).leader == NODE
    grown = await catalog.create_partitions("wide", 700)
    assert catalog.partition_state(grown, 699).leader == NODE
    assert [what for what, _, _ in catalog.recorder.told] == ["created", "changed 300->700"]


async def test_partitions_only_grow(catalog):
    await catalog.create_topic("orders", 3, {})
    for total in (3, 2, 0):
        with pytest.raises(InvalidPartitions):
            await catalog.create_partitions("orders", total)
    assert (await catalog.create_partitions("orders", 5, validate_only=True)).partitions == 3
    assert (await catalog.create_partitions("orders", 5)).partitions == 5


async def test_a_configuration_is_replaced_as_a_whole(catalog):
    await catalog.create_topic("orders", 1, {"retention.ms": "1", "segment.ms": "2"})
    topic = await catalog.edit_config("orders", lambda _: {"segment.ms": "3"})
    assert topic.overrides == {"segment.ms": "3"}
    assert topic.config.segment_ms == 3


async def test_concurrent_edits_do_not_undo_each_other(new_catalog):
    here, there = await new_catalog(), await new_catalog()
    await here.create_topic("orders", 1, {})
    await eventually(lambda: "orders" in there.topics)
    names = ["retention.ms", "segment.ms", "retention.bytes", "max.message.bytes"]
    await asyncio.gather(
        *(
            catalog.edit_config("orders", lambda present, name=name: {**present, name: "123456"})
            for catalog, name in zip([here, there, here, there], names, strict=True)
        )
    )
    await here.edit_config("orders", lambda present: {**present, "durability": "os"})
    assert set(here.get("orders").overrides) == {*names, "durability"}


async def test_what_something_depends_on_is_neither_deleted_nor_changed(catalog):
    def refuse(*_):
        raise PolicyViolation("a queue depends on it")

    topic = await catalog.create_topic("orders", 1, {"segment.ms": "5"})
    catalog.check_delete = catalog.check_growth = catalog.check_config = refuse
    with pytest.raises(PolicyViolation):
        await catalog.delete_topic("orders")
    with pytest.raises(PolicyViolation):
        await catalog.create_partitions("orders", 2, validate_only=True)
    with pytest.raises(PolicyViolation):
        await catalog.edit_config("orders", lambda _: {}, validate_only=True)
    assert catalog.get("orders") == topic


async def test_the_configuration_that_would_be_is_what_is_checked(catalog):
    asked = []
    catalog.check_config = lambda name, config: asked.append((name, config.cleanup_compact))
    await catalog.create_topic("orders", 1, {})
    await catalog.edit_config("orders", lambda _: {"cleanup.policy": "compact"})
    assert asked == [("orders", True)]


async def test_the_nodes_defaults_apply_where_a_topic_says_nothing(new_catalog):
    catalog = await new_catalog(topic_defaults={"retention.ms": "5", "segment.ms": "6"})
    topic = await catalog.create_topic("orders", 1, {"segment.ms": "7"})
    assert (topic.config.retention_ms, topic.config.segment_ms) == (5, 7)
    assert topic.overrides == {"segment.ms": "7"}


async def test_a_restart_finds_every_topic_and_tells_the_listeners(new_catalog):
    first = await new_catalog()
    topic = await first.create_topic("orders", 2, {"retention.ms": "5"})
    await first.create_topic("__consumer_offsets", 1, {})
    second = await new_catalog()
    assert second.get("orders") == topic
    assert second.get("__consumer_offsets").internal
    assert [name for _, name, _ in second.recorder.told] == ["__consumer_offsets", "orders"]


async def test_every_node_follows_what_another_does(new_catalog):
    here, there = await new_catalog(), await new_catalog()
    await here.create_topic("orders", 1, {})
    await here.create_partitions("orders", 2)
    await here.delete_topic("orders")
    await eventually(lambda: len(there.recorder.told) == 3)
    assert [what for what, _, _ in there.recorder.told] == ["created", "changed 1->2", "deleted"]


async def test_a_node_that_fell_behind_the_history_reads_everything_again(new_catalog, store):
    here = await new_catalog()
    there = await new_catalog()
    await here.create_topic("gone", 1, {})
    await here.create_topic("remade", 1, {})
    remade = here.get("remade").id
    await eventually(lambda: "remade" in there.topics)
    await there.stop()
    await here.delete_topic("gone")
    await here.delete_topic("remade")
    await here.create_topic("remade", 1, {})
    await here.create_topic("new", 1, {})
    for _ in range(20):
        await store.transact([], [Put("elsewhere", b"")])
    await there.follower.start()
    assert set(there.topics) == {"remade", "new"}
    assert there.get("remade").id != remade
    with pytest.raises(UnknownTopicId):
        there.by_id(remade)


async def test_a_slow_listener_is_overtaken_by_compaction_without_losing_anything(
    new_catalog, store
):
    catalog = await new_catalog()
    gate = asyncio.Event()

    class Slow:
        async def topic_created(self, topic: Topic) -> None:
            await gate.wait()

        async def topic_changed(self, old: Topic, new: Topic) -> None: ...

        async def topic_deleted(self, topic: Topic) -> None: ...

        async def partition_changed(
            self, topic: Topic, index: int, entry: PartitionEntry
        ) -> None: ...

    catalog.subscribe(Slow())
    creating = [asyncio.create_task(catalog.create_topic(f"t{n}", 1, {})) for n in range(30)]
    await eventually(lambda: store._revision >= 30)
    gate.set()
    await asyncio.gather(*creating)
    assert len(catalog.topics) == 30


async def test_states_without_a_topic_are_orphans_and_can_be_removed(new_catalog, store):
    first = await new_catalog()
    topic = await first.create_topic("orders", 1, {})
    await store.transact(
        [],
        [
            Put(
                f"catalog/partitions/{uuid.UUID(int=99)}/0",
                b'{"leader":1,"leader_epoch":0,"replicas":[1],"in_sync":[1]}',
            )
        ],
    )
    second = await new_catalog()
    await second.remove_orphans()
    keys = [entry.key for entry in (await store.range("catalog/partitions/")).entries]
    assert keys == [f"catalog/partitions/{topic.id}/0"]


async def test_a_store_that_does_not_answer_leaves_the_outcome_unknown(catalog, store):
    await store.close()
    with pytest.raises(RequestTimedOut):
        await catalog.create_topic("orders", 1, {})


async def test_a_failing_listener_ends_the_following_and_is_seen(catalog):
    class Failing:
        async def topic_created(self, topic: Topic) -> None:
            raise OSError("no space left on device")

        async def topic_changed(self, old: Topic, new: Topic) -> None: ...

        async def topic_deleted(self, topic: Topic) -> None: ...

        async def partition_changed(
            self, topic: Topic, index: int, entry: PartitionEntry
        ) -> None: ...

    catalog.subscribe(Failing())
    with pytest.raises(RequestTimedOut):
        await catalog.create_topic("orders", 1, {})
    assert isinstance(catalog.follower.task.exception(), OSError)
    with pytest.raises(RequestTimedOut):
        await catalog.create_topic("others", 1, {})


async def test_listeners_are_told_of_another_leader_once_the_catalog_shows_it(store, new_catalog):
    catalog = await new_catalog()
    recorder = Recorder(catalog)
    catalog.subscribe(recorder)
    topic = await catalog.create_topic("orders", 2, {})
    state = PartitionState(leader=3, leader_epoch=1, replicas=(3, 7), in_sync=(3,))
    await store.transact([], [Put(partition_key(topic.id, 1), encode_state(state))])
    await eventually(lambda: len(recorder.told) == 2)
    assert recorder.told[1] == ("partition 1 led by 3", "orders", True)
    assert catalog.partition_state(topic, 1) == state


async def test_closed_partitions_are_stored_by_the_name_that_stores_already_hold(catalog, store):
    await catalog.create_topic("work", 3, {})
    await catalog.open_partitions("work", 1)
    (entry,) = (await store.range(TOPICS_PREFIX)).entries
    assert json.loads(entry.value)["taking"] == 1
