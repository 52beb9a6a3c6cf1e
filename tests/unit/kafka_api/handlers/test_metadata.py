from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from duolog.model.names import OFFSETS_TOPIC
from duolog.wire.kafka.apis import APIS, ApiKey

VERSIONS_WITH_IDS = (12, APIS[ApiKey.METADATA].max_version)
NOT_ASKED = -(1 << 31)


async def ask(broker, *topics, version=None, **options) -> Any:
    fields = {"topics": topics, "allow_auto_topic_creation": False, **options}
    return await broker.call(ApiKey.METADATA, version, **fields)


@pytest.mark.parametrize("version", VERSIONS_WITH_IDS)
@pytest.mark.parametrize("name", [None, "", "nothing"])
async def test_a_topic_is_found_by_its_id_whatever_name_comes_along(broker, version, name):
    orders = await broker.catalog.create_topic("orders", 1, {})
    wanted = {"topic_id": orders.id, "name": name}
    (found,) = (await ask(broker, wanted, version=version)).topics
    assert (found.error_code, found.name, found.topic_id) == (ErrorCode.none, "orders", orders.id)


@pytest.mark.parametrize("version", VERSIONS_WITH_IDS)
async def test_an_unknown_id_is_answered_without_a_name(broker, version):
    orders = await broker.catalog.create_topic("orders", 1, {})
    await broker.catalog.delete_topic("orders")
    wanted = {"topic_id": orders.id, "name": ""}
    (found,) = (await ask(broker, wanted, version=version)).topics
    assert found.error_code == ErrorCode.unknown_topic_id
    assert (found.name, found.topic_id) == (None, orders.id)


@pytest.mark.parametrize("name", [OFFSETS_TOPIC, "..consumer_offsets", "__queue.a"])
async def test_asking_creates_no_internal_topic_nor_what_takes_its_place(broker, name):
    answer = await ask(broker, {"name": name}, allow_auto_topic_creation=True)
    assert answer.topics[0].error_code == ErrorCode.unknown_topic_or_partition


async def test_operations_come_only_when_asked_for(broker):
    await broker.catalog.create_topic("orders", 1, {})
    silent = await ask(broker, {"name": "orders"}, version=10)
    assert silent.cluster_authorized_operations == NOT_ASKED
    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    told = await ask(
        broker,
        {"name": "orders"},
        version=10,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    assert told.cluster_authorized_operations == 8096
    assert told.topics[0].topic_authorized_operations == 3576
