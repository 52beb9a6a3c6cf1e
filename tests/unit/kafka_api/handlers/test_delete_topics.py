import uuid

import pytest
from kio.schema.errors import ErrorCode

from duolog.wire.kafka.apis import ApiKey


async def delete(broker, *targets):
    response = await broker.call(
        ApiKey.DELETE_TOPICS,
        topics=[{"name": name, "topic_id": topic_id} for name, topic_id in targets],
        timeout=1000,
    )
    return response.responses


@pytest.mark.parametrize("version", range(1, 6))
async def test_topics_are_deleted_by_name(broker, version):
    await broker.catalog.create_topic("orders", 1, {})
    response = await broker.call(
        ApiKey.DELETE_TOPICS, version, topic_names=["orders", "nothing"], timeout=1000
    )
    assert [(each.name, each.error_code) for each in response.responses] == [
        ("orders", ErrorCode.none),
        ("nothing", ErrorCode.unknown_topic_or_partition),
    ]
    assert not broker.catalog.topics


async def test_topics_are_deleted_by_name_or_id(broker):
    first = await broker.catalog.create_topic("first", 1, {})
    second = await broker.catalog.create_topic("second", 1, {})
    results = await delete(broker, ("first", None), (None, second.id))
    assert [(each.name, each.topic_id, each.error_code) for each in results] == [
        ("first", first.id, ErrorCode.none),
        ("second", second.id, ErrorCode.none),
    ]
    assert not broker.catalog.topics


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ((None, uuid.UUID(int=99)), ErrorCode.unknown_topic_id),
        (("nothing", None), ErrorCode.unknown_topic_or_partition),
        (("orders", uuid.UUID(int=1)), ErrorCode.invalid_request),
        ((None, None), ErrorCode.invalid_request),
        (("__consumer_offsets", None), ErrorCode.invalid_topic_exception),
    ],
)
async def test_what_cannot_be_deleted_is_refused_with_a_reason(broker, target, error):
    await broker.catalog.create_topic("orders", 1, {})
    await broker.catalog.create_topic("__consumer_offsets", 1, {})
    (result,) = await delete(broker, target)
    assert result.error_code == error
    assert result.error_message
    assert len(broker.catalog.topics) == 2


async def test_a_topic_named_twice_is_not_deleted(broker):
    await broker.catalog.create_topic("orders", 1, {})
    (result,) = await delete(broker, ("orders", None), ("orders", None))
    assert result.error_code == ErrorCode.invalid_request
    assert "orders" in broker.catalog.topics


class TestDisabled:
    @pytest.fixture
    def flags(self):
        return {"delete.topic.enable": "false"}

    async def test_deletion_can_be_disabled(self, broker):
        await broker.catalog.create_topic("orders", 1, {})
        (result,) = await delete(broker, ("orders", None))
        assert result.error_code == ErrorCode.topic_deletion_disabled

    @pytest.mark.parametrize("version", range(1, 6))
    async def test_old_clients_are_told_with_a_code_that_they_know(self, broker, version):
        await broker.catalog.create_topic("orders", 1, {})
        response = await broker.call(
            ApiKey.DELETE_TOPICS, version, topic_names=["orders"], timeout=1000
        )
        disabled = ErrorCode.topic_deletion_disabled
        expected = ErrorCode.invalid_request if version < 3 else disabled
        assert response.responses[0].error_code == expected
        assert "orders" in broker.catalog.topics
