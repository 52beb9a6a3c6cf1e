import pytest
from kio.schema.errors import ErrorCode

from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.apis import ApiKey


@pytest.fixture(autouse=True)
async def topics(broker):
    for name, partitions in (("c", 3), ("a", 2), ("b", 1), (OFFSETS_TOPIC, 1)):
        await broker.catalog.create_topic(name, partitions, {})


async def describe(broker, *names, limit=2000, cursor=None):
    return await broker.call(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        topics=[{"name": name} for name in names],
        response_partition_limit=limit,
        cursor=cursor and {"topic_name": cursor[0], "partition_index": cursor[1]},
    )


def pairs(response):
    return [
        (topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
    ]


async def test_no_names_mean_all_topics_in_order(broker):
    response = await describe(broker)
    assert [topic.name for topic in response.topics] == [OFFSETS_TOPIC, "a", "b", "c"]
    assert [topic.is_internal for topic in response.topics] == [True, False, False, False]
    assert response.next_cursor is None


async def test_everything_may_be_done_to_a_topic(broker):
    (topic,) = (await describe(broker, "b")).topics
    assert topic.topic_authorized_operations == 3576


async def test_a_partition_is_described_with_its_leader_and_replicas(broker):
    response = await describe(broker, "b")
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert topic.topic_id == broker.catalog.get("b").id
    assert (partition.leader_id, partition.leader_epoch) == (3, 0)
    assert partition.replica_nodes == partition.isr_nodes == (3,)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
async def test_following_the_cursor_visits_each_partition_once(broker, limit):
    seen, cursor = [], None
    while True:
        response = await describe(broker, limit=limit, cursor=cursor)
        assert len(pairs(response)) <= limit
        seen += pairs(response)
        if response.next_cursor is None:
            break
        cursor = response.next_cursor.topic_name, response.next_cursor.partition_index
    assert seen == [(OFFSETS_TOPIC, 0), ("a", 0), ("a", 1), ("b", 0), ("c", 0), ("c", 1), ("c", 2)]


async def test_a_cursor_past_the_end_of_a_topic_goes_on_with_the_next(broker):
    assert pairs(await describe(broker, cursor=("a", 9))) == [
        ("b", 0),
        ("c", 0),
        ("c", 1),
        ("c", 2),
    ]


async def test_unknown_and_illegal_names_are_told_apart(broker):
    response = await describe(broker, "nothing", "a/b", "b")
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a/b", ErrorCode.invalid_topic_exception),
        ("b", ErrorCode.none),
        ("nothing", ErrorCode.unknown_topic_or_partition),
    ]


async def test_a_cursor_before_the_first_partition_is_refused(broker):
    response = await describe(broker, "a", cursor=("a", -1))
    assert [topic.error_code for topic in response.topics] == [ErrorCode.invalid_request]
