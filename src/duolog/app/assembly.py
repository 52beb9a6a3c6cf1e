"""Assembly of a node from its parts: the only place that knows which part needs which.

A node is opened, joins its cluster once its doors have addresses, and is closed. The doors
themselves are opened by app/node.py, or by the simulator.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from duolog.app.cluster import Clustered
from duolog.app.world import World
from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.requests import Requests
from duolog.broker.controller.survey import PeerSurveyor
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import TopicOffsetStore
from duolog.broker.housekeeping import Housekeeping
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.producer_ids import ProducerIds
from duolog.broker.queues.catalog import QueueCatalog
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.receipt_key import establish_receipt_key
from duolog.broker.replication.log_ends import LogEnds
from duolog.broker.usage.metering import Metering, usage_topic
from duolog.config.settings import Settings
from duolog.core.groups.settings import GroupSettings
from duolog.kafka_api.door import KafkaDoor
from duolog.observe.metrics import Metrics
from duolog.sqs_api.door import SqsDoor

DRAIN_SECONDS_MAX = 5.0


class Node:
    """All parts of an open node, as `open_node` connects them."""

    def __init__(
        self,
        world: World,
        settings: Settings,
        metrics: Metrics,
        broker: Broker,
        queues: Queues,
        cluster: Clustered | None,
        metering: Metering | None,
    ) -> None:
        self.world = world
        self.settings = settings
        self.metrics = metrics
        self.broker = broker
        self.queues = queues
        self.cluster = cluster
        """None for a lone node."""
        self.metering = metering
        """None where usage is not metered."""
        self.kafka_door = KafkaDoor(broker, metrics, world.new_session_id)
        self.housekeeping = Housekeeping(broker)
        self.housekeeping.thinning = queues.thinnable

    def sqs_door(self) -> SqsDoor:
        settings = self.settings
        return SqsDoor(
            self.queues,
            self.world.clock,
            self.metrics,
            account_id=settings.text("sqs.account.id"),
            region=settings.text("sqs.region"),
            credentials=dict(pair.split(":", 1) for pair in settings.get("sqs.credentials")),
            first_request_id=self.world.new_id(),
            meter=self.broker.meter,
        )

    def followers(self) -> list[asyncio.Task[None]]:
        """Background tasks that end only by being cancelled; if one fails, the node must end."""
        queues = self.queues
        tasks = [
            self.broker.catalog.follower.task,
            queues.catalog.follower.task,
            queues.move_tasks.board.task,
        ]
        if self.cluster is not None:
            tasks += self.cluster.tasks
        if self.metering is not None:
            tasks += self.metering.tasks
        return [task for task in tasks if task is not None]


async def open_node(
    world: World,
    settings: Settings,
    metrics: Metrics,
    cluster_id: str,
    on_storage_failure: Callable[[OSError], None],
    partitions_max: int,
    cleanup: AsyncExitStack,
) -> Node:
    """Open everything that is stored. In a cluster the node leads nothing before it has joined."""
    node_id = settings.integer("node.id")
    view = ClusterView(world.store)
    cluster: Clustered | None = None
    if world.peer_network is not None:
        cluster = Clustered(world, settings, cluster_id, view)
        cleanup.push_async_callback(cluster.close)
        await view.start()
    broker = Broker(
        disk=world.disk,
        clock=world.clock,
        settings=settings,
        catalog=Catalog(
            world.store,
            node_id,
            new_id=world.new_id,
            topic_defaults=settings.topic_defaults(),
            nodes=None if cluster is None else view,
            default_factor=1 if cluster is None else settings.integer("default.replication.factor"),
            clock=world.clock,
        ),
        producer_ids=ProducerIds(world.store),
        metrics=metrics,
        node_id=node_id,
        cluster_id=cluster_id,
        on_storage_failure=on_storage_failure,
        partitions_max=partitions_max,
        new_id=world.new_id,
        reserve=world.reserve,
    )
    group_settings = _group_settings(settings)
    broker.groups = GroupCoordinator(
        world.clock,
        TopicOffsetStore(broker, group_settings),
        group_settings,
        admission=broker.admission,
        new_id=world.new_id,
    )
    broker.leadership.append(broker.groups)
    broker.roles.copying.append(broker.groups)
    log_ends = LogEnds(broker.routes)
    broker.requests = Requests(
        world.store,
        world.clock,
        broker.catalog,
        broker.catalog.nodes,
        EventLog(world.store, node_id),
        PeerSurveyor(node_id, log_ends, None) if cluster is None else cluster.surveyor(log_ends),
    )
    queues = Queues(
        broker,
        world.store,
        QueueCatalog(
            world.store,
            new_id=world.new_id,
            region=settings.text("sqs.region"),
            account=settings.text("sqs.account.id"),
            hold_ms=settings.integer("sqs.deleted.queue.seconds") * 1000,
            clock=world.clock,
        ),
        world.poster,
        receipt_key=await establish_receipt_key(world.store, world.new_token),
        peers=None if cluster is None else cluster.peers,
    )
    if cluster is not None:
        cluster.attach(broker, queues, metrics)
    metering = _open_metering(broker, world, settings)
    await broker.start()
    cleanup.push_async_callback(broker.stop)
    await broker.groups.start(broker.catalog.topics)
    await queues.start()
    cleanup.push_async_callback(queues.stop)
    node = Node(world, settings, metrics, broker, queues, cluster, metering)
    if cluster is not None:
        cleanup.push_async_callback(cluster.leave)
    if metering is not None:
        topic = usage_topic(broker, None if cluster is None else cluster.peers)
        metering.start(
            topic, lambda name: queues.find(name) is not None, is_only_node=cluster is None
        )
        cleanup.push_async_callback(metering.stop)
    return node


def _open_metering(broker: Broker, world: World, settings: Settings) -> Metering | None:
    """Metering, if enabled. Opened before the partitions, so that each is counted from its first
    request on."""
    interval_ms = settings.integer("usage.interval.seconds") * 1000
    if world.counters is None or not interval_ms:
        return None
    return Metering(
        broker,
        world.counters,
        tenant=settings.text("sqs.account.id"),
        interval_ms=interval_ms,
        new_journal=world.new_id().hex,
    )


def _group_settings(settings: Settings) -> GroupSettings:
    return GroupSettings(
        session_timeout_ms_min=settings.integer("group.min.session.timeout.ms"),
        session_timeout_ms_max=settings.integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
        group_size_max=settings.integer("group.max.size"),
        offsets_retention_ms=settings.integer("offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=settings.integer("offsets.retention.check.interval.ms"),
        offsets_partitions=settings.integer("offsets.topic.num.partitions"),
    )
