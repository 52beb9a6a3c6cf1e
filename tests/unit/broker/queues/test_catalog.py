"""Which queues there are: on a real store, with the time told."""

import asyncio
import itertools
import json
import uuid

import pytest

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.queues.catalog import QueueCatalog, QueueEntry
from duolog.model.errors import RequestTimedOut
from duolog.model.queue_errors import (
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    QueueDeletedRecently,
    QueueDoesNotExist,
    QueueNameExists,
)
from duolog.ports.metastore import Put

HOLD_MS = 60_000
ARN = "arn:aws:sqs:us-east-1:000000000000:"


class ManualClock:
    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0


class Recorder:
    """A listener that also notes whether the catalog already shows what it is told of."""

    def __init__(self, catalog: QueueCatalog) -> None:
        self._catalog = catalog
        self.told: list[tuple[str, str, bool]] = []

    def _note(self, what: str, queue: QueueEntry) -> None:
        self.told.append((what, queue.name, queue.name in self._catalog.queues))

    async def queue_created(self, queue: QueueEntry) -> None:
        await asyncio.sleep(0)
        self._note("created", queue)

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        await asyncio.sleep(0)
        self._note("changed", new)

    async def queue_deleted(self, queue: QueueEntry) -> None:
        await asyncio.sleep(0)
        self._note(f"deleted at {queue.deleted_ms}", queue)


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock(), history_revisions_max=20)
    yield store
    await store.close()


@pytest.fixture
async def new_catalog(store):
    made = []
    numbers = itertools.count(1)

    async def make() -> QueueCatalog:
        catalog = QueueCatalog(
            store,
            new_id=lambda: uuid.UUID(int=next(numbers)),
            region="us-east-1",
            account="000000000000",
            hold_ms=HOLD_MS,
        )
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


def redrive(queue: str, owner: str = ARN) -> dict[str, str]:
    return {
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": owner + queue, "maxReceiveCount": 3})
    }


async def test_a_created_queue_can_be_found_at_once(catalog):
    queue = await catalog.create("orders", {"VisibilityTimeout": "05"}, {"team": "a"}, 1000)
    assert catalog.get("orders") is queue
    assert queue.attributes == {"VisibilityTimeout": "5"}
    assert queue.config.visibility_timeout_seconds == 5
    assert (queue.tags, queue.created_ms, queue.modified_ms) == ({"team": "a"}, 1000, 1000)
    assert (queue.purged_ms, queue.deleted_ms) == (None, None)
    assert catalog.recorder.told == [("created", "orders", False)]


async def test_creating_it_again_with_equal_attributes_gives_the_same_queue(catalog):
    queue = await catalog.create("orders", {"VisibilityTimeout": "5"}, {}, 1000)
    for attributes in ({}, {"VisibilityTimeout": "5"}, {"DelaySeconds": "0"}):
        assert await catalog.create("orders", attributes, {"other": "tag"}, 2000) is queue
    assert len(catalog.recorder.told) == 1


async def test_creating_it_again_with_another_value_is_refused(catalog):
    await catalog.create("orders", {"VisibilityTimeout": "5"}, {}, 1000)
    with pytest.raises(QueueNameExists, match=r"a different value for attribute DelaySeconds$"):
        await catalog.create("orders", {"VisibilityTimeout": "5", "DelaySeconds": "1"}, {}, 1000)


async def test_what_cannot_be_created_leaves_nothing(catalog, store):
    for name, attributes in (
        ("no/name", {}),
        ("orders", {"Colour": "red"}),
        ("orders", {"DelaySeconds": "901"}),
        ("orders.fifo", {}),
    ):
        with pytest.raises((InvalidParameterValue, InvalidAttributeName, InvalidAttributeValue)):
            await catalog.create(name, attributes, {}, 0)
    assert (await store.range("")).entries == ()


async def test_names_that_are_one_topic_cannot_be_two_queues(catalog):
    await catalog.create("orders.fifo", {"FifoQueue": "true"}, {}, 0)
    with pytest.raises(QueueNameExists, match=r"collides with that of queue orders\.fifo"):
        await catalog.create("orders_fifo", {}, {}, 0)
    with pytest.raises(QueueNameExists):
        catalog.check_creatable("orders_fifo", 0)
    catalog.check_creatable("orders.fifo", 0)
    catalog.check_creatable("orders-fifo", 0)


async def test_concurrent_creators_get_one_queue(new_catalog):
    here, there = await new_catalog(), await new_catalog()
    queues = await asyncio.gather(
        *(catalog.create("orders", {}, {}, 0) for catalog in (here, there, here, there))
    )
    assert len({queue.id for queue in queues}) == 1


async def test_attributes_change_and_are_unset(catalog):
    await catalog.create("orders", {"VisibilityTimeout": "5", "Policy": "{}"}, {}, 1000)
    queue = await catalog.set_attributes("orders", {"Policy": "", "DelaySeconds": "7"}, 2000)
    assert catalog.get("orders") is queue
    assert queue.attributes == {"VisibilityTimeout": "5", "DelaySeconds": "7"}
    assert queue.config.delay_seconds == 7
    assert (queue.created_ms, queue.modified_ms) == (1000, 2000)
    assert catalog.recorder.told[-1] == ("changed", "orders", True)


async def test_a_change_that_changes_nothing_is_none(catalog):
    queue = await catalog.create("orders", {"DelaySeconds": "7"}, {}, 1000)
    assert await catalog.set_attributes("orders", {"DelaySeconds": "07"}, 2000) is queue


async def test_a_change_that_does_not_fit_the_rest_is_refused(catalog):
    limit = {"FifoThroughputLimit": "perMessageGroupId", "DeduplicationScope": "messageGroup"}
    queue = await catalog.create("a.fifo", {"FifoQueue": "true", **limit}, {}, 0)
    with pytest.raises(InvalidAttributeValue, match="FifoThroughputLimit"):
        await catalog.set_attributes("a.fifo", {"DeduplicationScope": "queue"}, 1)
    assert catalog.get("a.fifo") is queue


async def test_concurrent_changes_do_not_undo_each_other(new_catalog):
    here, there = await new_catalog(), await new_catalog()
    await here.create("orders", {}, {}, 0)
    await there.create("orders", {}, {}, 0)
    await asyncio.gather(
        here.set_attributes("orders", {"DelaySeconds": "1"}, 1),
        there.set_attributes("orders", {"VisibilityTimeout": "2"}, 1),
        here.edit_tags("orders", lambda tags: {**tags, "a": "1"}),
        there.edit_tags("orders", lambda tags: {**tags, "b": "2"}),
        here.note_purged("orders", 9),
        there.edit_policy("orders", lambda policy: policy or "{}", 1),
    )
    queue = await here.edit_tags("orders", lambda tags: {**tags, "c": "3"})
    assert queue.attributes == {"DelaySeconds": "1", "VisibilityTimeout": "2", "Policy": "{}"}
    assert (queue.tags, queue.purged_ms) == ({"a": "1", "b": "2", "c": "3"}, 9)


async def test_what_is_not_there_can_be_neither_changed_nor_deleted(catalog):
    for change in (
        catalog.set_attributes("orders", {}, 0),
        catalog.edit_tags("orders", dict),
        catalog.delete("orders", 0),
    ):
        with pytest.raises(QueueDoesNotExist):
            await change
    with pytest.raises(QueueDoesNotExist):
        catalog.get("orders")
    await catalog.forget_deleted("orders")


async def test_a_deleted_queue_is_gone_and_remembered(catalog):
    queue = await catalog.create("orders", {"DelaySeconds": "1"}, {}, 1000)
    deleted = await catalog.delete("orders", 5000)
    assert (deleted.id, deleted.deleted_ms, deleted.config) == (queue.id, 5000, queue.config)
    assert (dict(catalog.queues), dict(catalog.deleted)) == ({}, {"orders": deleted})
    assert catalog.recorder.told[-1] == ("deleted at 5000", "orders", False)
    with pytest.raises(QueueDoesNotExist):
        await catalog.delete("orders", 6000)


async def test_the_name_of_a_deleted_queue_is_free_after_a_while(catalog):
    first = await catalog.create("orders", {}, {}, 0)
    await catalog.delete("orders", 1000)
    assert catalog.forgettable(1000 + HOLD_MS - 1) == []
    for attempt in ("orders", "orders"):
        with pytest.raises(QueueDeletedRecently, match="wait 60 seconds"):
            await catalog.create(attempt, {}, {}, 1000 + HOLD_MS - 1)
    with pytest.raises(QueueDeletedRecently):
        catalog.check_creatable("orders", 1000 + HOLD_MS - 1)
    catalog.check_creatable("orders", 1000 + HOLD_MS)
    assert [queue.id for queue in catalog.forgettable(1000 + HOLD_MS)] == [first.id]
    second = await catalog.create("orders", {}, {}, 1000 + HOLD_MS)
    assert second.id != first.id
    assert (list(catalog.queues), list(catalog.deleted)) == (["orders"], [])


async def test_a_forgotten_queue_leaves_no_trace(catalog, store):
    await catalog.create("orders", {}, {}, 0)
    await catalog.delete("orders", 0)
    await catalog.forget_deleted("orders")
    assert not catalog.deleted
    assert (await store.range("")).entries == ()
    await catalog.create("orders", {}, {}, 1)
    await catalog.forget_deleted("orders")
    assert "orders" in catalog.queues


async def test_a_restart_finds_what_was_there_and_what_was_deleted(new_catalog):
    first = await new_catalog()
    attributes = {"VisibilityTimeout": "5", "duolog:SourceTopic": "events"}
    kept = await first.create("kept", attributes, {"a": "b"}, 1000)
    await first.create("gone", attributes, {}, 1000)
    await first.note_purged("kept", 1500)
    gone = await first.delete("gone", 2000)
    second = await new_catalog()
    assert dict(second.queues) == {"kept": first.get("kept")}
    assert (second.get("kept").purged_ms, second.get("kept").id) == (1500, kept.id)
    assert dict(second.deleted) == {"gone": gone}
    assert second.recorder.told == [("created", "kept", False)]
    with pytest.raises(QueueDeletedRecently):
        await second.create("gone", {}, {}, 2001)


async def test_a_node_that_fell_behind_the_history_takes_a_namesake_for_another(new_catalog, store):
    here, there = await new_catalog(), await new_catalog()
    old = await here.create("orders", {}, {}, 0)
    await there.create("orders", {}, {}, 0)
    await there.stop()
    await here.delete("orders", 0)
    await here.forget_deleted("orders")
    new = await here.create("orders", {}, {}, 0)
    for _ in range(20):
        await store.transact([], [Put("elsewhere", b"")])
    await there.follower.start()
    assert there.get("orders").id == new.id != old.id
    assert [what for what, _, _ in there.recorder.told] == ["created", "deleted at None", "created"]


async def test_a_dead_letter_queue_must_be_there(catalog):
    with pytest.raises(InvalidParameterValue, match="Dead letter target does not exist"):
        await catalog.create("orders", redrive("dead"), {}, 0)
    await catalog.create("dead", {}, {}, 0)
    await catalog.create("orders", redrive("dead"), {}, 0)
    with pytest.raises(InvalidParameterValue, match="Dead letter target does not exist"):
        await catalog.set_attributes("orders", redrive("gone"), 1)


async def test_a_queue_outlives_its_dead_letter_queue(catalog):
    await catalog.create("dead", {}, {}, 0)
    await catalog.create("orders", redrive("dead"), {}, 0)
    await catalog.delete("dead", 1)
    queue = await catalog.set_attributes("orders", {"DelaySeconds": "1"}, 2)
    assert queue.config.redrive is not None
    assert (await catalog.set_attributes("orders", {"RedrivePolicy": ""}, 3)).config.redrive is None


async def test_a_dead_letter_queue_of_somebody_else_is_refused(catalog):
    await catalog.create("dead", {}, {}, 0)
    for owner in ("arn:aws:sqs:us-east-1:111111111111:", "arn:aws:sqs:eu-west-1:000000000000:"):
        with pytest.raises(InvalidParameterValue, match="owner should be same as the source"):
            await catalog.create("orders", redrive("dead", owner), {}, 0)


async def test_a_dead_letter_queue_says_whose_it_will_be(catalog):
    allow = {"redrivePermission": "byQueue", "sourceQueueArns": [ARN + "orders"]}
    await catalog.create("dead", {"RedriveAllowPolicy": json.dumps(allow)}, {}, 0)
    await catalog.create("orders", redrive("dead"), {}, 0)
    with pytest.raises(InvalidParameterValue, match="does not allow this queue"):
        await catalog.create("others", redrive("dead"), {}, 0)


async def test_a_subscription_queue_takes_no_dead_letters(catalog):
    await catalog.create("dead", {"duolog:SourceTopic": "events"}, {}, 0)
    with pytest.raises(InvalidParameterValue, match="no messages of its own"):
        await catalog.create("orders", redrive("dead"), {}, 0)


async def test_who_serves_queues_may_refuse_them(catalog, store):
    def refuse(queue: QueueEntry) -> None:
        if queue.config.source_topic or queue.config.delay_seconds:
            raise InvalidAttributeValue("cannot be served")

    catalog.check_servable = refuse
    with pytest.raises(InvalidAttributeValue, match="cannot be served"):
        await catalog.create("orders", {"duolog:SourceTopic": "events"}, {}, 0)
    assert (await store.range("")).entries == ()
    await catalog.create("orders", {}, {}, 0)
    with pytest.raises(InvalidAttributeValue, match="cannot be served"):
        await catalog.set_attributes("orders", {"DelaySeconds": "1"}, 0)


async def test_a_store_that_does_not_answer_leaves_the_outcome_unknown(catalog, store):
    await catalog.create("orders", {}, {}, 0)
    await store.close()
    for change in (
        catalog.create("others", {}, {}, 0),
        catalog.set_attributes("orders", {"DelaySeconds": "1"}, 0),
        catalog.delete("orders", 0),
    ):
        with pytest.raises(RequestTimedOut):
            await change
