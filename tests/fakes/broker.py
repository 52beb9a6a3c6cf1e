"""A broker on a fake disk, with groups, as the composition root would make it."""

import uuid
from collections.abc import Callable
from typing import Any

from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import TopicOffsetStore
from duolog.broker.producer_ids import ProducerIds
from duolog.config.settings import Settings
from duolog.core.groups.settings import GroupSettings
from duolog.observe.metrics import Metrics
from duolog.ports.metastore import MetaStore


async def start_broker(
    disk: FakeDisk,
    store: MetaStore,
    *,
    new_id: Callable[[], uuid.UUID] = uuid.uuid4,
    on_storage_failure: Callable[[OSError], None] = lambda error: None,
    clock: SetClock | None = None,
    settings: Settings | None = None,
    prepare: Callable[[Broker], object] = lambda broker: None,
    **more: Any,
) -> Broker:
    clock = clock or SetClock()
    broker = Broker(
        disk=disk,
        clock=clock,
        settings=settings or Settings.load({}),
        catalog=Catalog(store, 1, new_id=new_id),
        producer_ids=ProducerIds(store),
        metrics=Metrics(),
        node_id=1,
        cluster_id="c",
        on_storage_failure=on_storage_failure,
        **more,
    )
    groups = GroupSettings()
    broker.groups = GroupCoordinator(clock, TopicOffsetStore(broker, groups), groups)
    broker.leadership.append(broker.groups)
    prepare(broker)
    await broker.start()
    await broker.groups.start(broker.catalog.topics)
    return broker
