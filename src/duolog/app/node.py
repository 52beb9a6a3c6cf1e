"""One node, from settings to a served address and back."""

import asyncio
import gc
import random
import resource
import secrets
import signal
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

import uvloop

from duolog.adapters.clock import SystemClock
from duolog.adapters.disk import LocalDisk
from duolog.adapters.http import HttpServer, serve_http
from duolog.adapters.http_client import HttpPoster
from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.sqlite import SqliteStore
from duolog.adapters.tcp import TcpListener, listen_tcp
from duolog.admin_api.handler import AdminApi
from duolog.app.data_directory import DataDirectory, StartRefused
from duolog.app.gauges import register_gauges
from duolog.app.queue_gauges import register_queue_gauges
from duolog.app.ready_file import ready_file
from duolog.broker.broker import Broker
from duolog.broker.catalog import Catalog
from duolog.broker.catalog_entries import TOPICS_PREFIX
from duolog.broker.cluster_id import establish_cluster_id
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import TopicOffsetStore
from duolog.broker.housekeeping import Housekeeping
from duolog.broker.producer_ids import ProducerIds
from duolog.broker.queues.catalog import QueueCatalog
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.receipt_key import establish_receipt_key
from duolog.broker.storage import DataMissing
from duolog.config.address import Address
from duolog.config.settings import Settings
from duolog.core.groups.settings import GroupSettings
from duolog.kafka_api.door import KafkaDoor
from duolog.observe.health import Health
from duolog.observe.logs import configure_logs, get_logger
from duolog.observe.loop_lag import LoopLagProbe
from duolog.observe.metrics import Metrics
from duolog.ports.clock import Clock
from duolog.ports.http import Handler
from duolog.ports.metastore import StoreUnavailable
from duolog.sqs_api.door import SqsDoor
from duolog.wire.kafka.schema import preload

__all__ = ["StartRefused", "run"]

METADATA_NAME = "metadata.sqlite"
DRAIN_SECONDS_MAX = 5.0
SESSION_ID_MAX = 0x7FFF_FFFF

PARTITIONS_SHARE = 0.75
"""Of the descriptors. A partition needs one while it is used, and none while it is not."""

GC_THRESHOLDS = (100_000, 50, 100)
"""The hot path makes no cycles, so the collector has little to find and should seldom look."""

log = get_logger("node")

OnReady = Callable[[dict[str, str]], None]


def run(settings: Settings, ready_path: Path | None, on_ready: OnReady) -> int:
    """Serve until SIGTERM or SIGINT; the process's exit code. Raises StartRefused."""
    with ready_file(ready_path) as announce:
        configure_logs(settings.get("log.level"), settings.get("log.format"))
        _allow_many_files()
        directory = DataDirectory(Path(settings.get("data.dir")).absolute())
        directory.lock()

        def ready(addresses: dict[str, str]) -> None:
            announce(addresses)
            on_ready(addresses)

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(_serve(settings, directory, ready))
        finally:
            directory.unlock()


async def _serve(settings: Settings, directory: DataDirectory, on_ready: OnReady) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _stop_on_signals(stopped)
    metrics, health = Metrics(), Health()
    health.set("start", False, "the node is starting")
    async with AsyncExitStack() as cleanup:
        admin_api = AdminApi(health, metrics)
        admin = await _serve_http("admin.listen", settings, admin_api)
        cleanup.push_async_callback(admin.close, 1.0)

        broker, queues = await _start_broker(settings, directory, metrics, health, stopped, cleanup)
        door = KafkaDoor(broker, metrics, lambda: random.randint(1, SESSION_ID_MAX))
        listener = _listen(settings, door)
        cleanup.callback(listener.abort_connections)
        broker.advertised = _advertised(settings, listener)
        cleanup.push_async_callback(door.drain, DRAIN_SECONDS_MAX)
        cleanup.push_async_callback(broker.groups.stop)
        cleanup.callback(listener.stop_accepting)
        door.start()

        sqs = await _serve_http(
            "sqs.listen", settings, _sqs_door(settings, queues, broker.clock, metrics)
        )
        cleanup.push_async_callback(sqs.close, 1.0)
        admin_api.attach(queues)

        housekeeping = Housekeeping(broker)
        housekeeping.thinning = queues.thinnable
        register_gauges(metrics, broker, housekeeping, listener)
        register_queue_gauges(metrics, queues)
        duties = asyncio.create_task(housekeeping.run())
        for task in (duties, broker.catalog.follower.task, queues.catalog.follower.task):
            assert task is not None
            task.add_done_callback(partial(_stop_on_failure, stopped))
        cleanup.callback(duties.cancel)
        probe = LoopLagProbe(metrics.loop_lag)
        probe.start()
        cleanup.callback(probe.stop)

        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        health.set("start", True)
        addresses = {
            "kafka": str(Address(*listener.address)),
            "sqs": str(Address(*sqs.address)),
            "admin": str(Address(*admin.address)),
        }
        log.info("serving", **addresses, partitions=broker.partition_count)
        on_ready(addresses)
        await broker.disk.offload(preload, lengthy=True)
        code = await stopped
        health.set("start", False, "the node is stopping")
        log.info("stopping")
    return code


async def _start_broker(
    settings: Settings,
    directory: DataDirectory,
    metrics: Metrics,
    health: Health,
    stopped: asyncio.Future[int],
    cleanup: AsyncExitStack,
) -> tuple[Broker, Queues]:
    clock = SystemClock()
    disk = LocalDisk(str(directory.path))
    cleanup.callback(disk.close)
    try:
        store = await SqliteStore.open(str(directory.path / METADATA_NAME), clock)
        cleanup.push_async_callback(store.close)
        cluster_id = await establish_cluster_id(store, uuid.uuid4)
    except StoreUnavailable as error:
        raise _unusable_metadata(directory, error) from error
    node_id = settings.integer("node.id")
    holds_topics = bool((await store.range(TOPICS_PREFIX)).entries)
    directory.claim(cluster_id, node_id, holds_topics=holds_topics, new_id=uuid.uuid4)

    def storage_failed(error: Exception) -> None:
        health.set("storage", False, f"the disk failed: {error}")
        if not stopped.done():
            stopped.set_result(1)

    store.on_failure = storage_failed

    broker = Broker(
        disk=disk,
        clock=clock,
        settings=settings,
        catalog=Catalog(
            store, node_id, new_id=uuid.uuid4, topic_defaults=settings.topic_defaults()
        ),
        producer_ids=ProducerIds(store),
        metrics=metrics,
        node_id=node_id,
        cluster_id=cluster_id,
        on_storage_failure=storage_failed,
        partitions_max=_partitions_max(),
    )
    group_settings = _group_settings(settings)
    broker.groups = GroupCoordinator(
        clock, TopicOffsetStore(broker, group_settings), group_settings
    )
    poster = HttpPoster()
    cleanup.callback(poster.close)
    queues = Queues(
        broker,
        store,
        QueueCatalog(
            store,
            new_id=uuid.uuid4,
            region=settings.text("sqs.region"),
            account=settings.text("sqs.account.id"),
            hold_ms=settings.integer("sqs.deleted.queue.seconds") * 1000,
        ),
        poster,
        receipt_key=await establish_receipt_key(store, secrets.token_bytes),
    )
    try:
        await broker.start()
    except StoreUnavailable as error:
        raise _unusable_metadata(directory, error) from error
    except DataMissing as error:
        raise StartRefused(
            f"The data directory is incomplete: {error}."
            " Restore it, or delete the topic's metadata by starting with an empty directory."
        ) from error
    except OSError as error:
        raise StartRefused(
            f"The data directory cannot be read and made durable: {error}."
            " Make sure that the disk works and has room, then start again."
        ) from error
    cleanup.push_async_callback(broker.stop)
    await broker.groups.start(broker.catalog.topics)
    await queues.start()
    cleanup.push_async_callback(queues.stop)
    return broker, queues


def _unusable_metadata(directory: DataDirectory, error: StoreUnavailable) -> StartRefused:
    return StartRefused(
        f"The metadata of {directory.path} cannot be used: {error}."
        f" Restore {METADATA_NAME} from a copy of the whole data directory,"
        " or start with an empty one."
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


def _listen(settings: Settings, door: KafkaDoor) -> TcpListener:
    address = settings.address("kafka.listen")
    assert address is not None
    try:
        return listen_tcp(
            *address,
            door.new_session,
            connections_max=_connections_max(settings),
        )
    except OSError as error:
        raise _cannot_bind("kafka.listen", address, error) from error


async def _serve_http(name: str, settings: Settings, handler: Handler) -> HttpServer:
    address = settings.address(name)
    assert address is not None
    try:
        return await serve_http(handler, *address, _http_limits(settings))
    except OSError as error:
        raise _cannot_bind(name, address, error) from error


def _http_limits(settings: Settings) -> HttpLimits:
    """What is set for connections holds at every door."""
    request_seconds = settings.integer("frame.receive.ms.max") / 1000
    return HttpLimits(
        connections_max=_connections_max(settings),
        bodies_bytes_total_max=settings.integer("receive.buffer.bytes.total.max"),
        head_seconds_max=min(HttpLimits().head_seconds_max, request_seconds),
        body_seconds_max=request_seconds,
        idle_seconds_max=settings.integer("connection.idle.ms.max") / 1000,
    )


def _connections_max(settings: Settings) -> int:
    """Of one door. Segments need descriptors too."""
    return min(settings.integer("connections.max"), _descriptors() // 2)


def _sqs_door(settings: Settings, queues: Queues, clock: Clock, metrics: Metrics) -> SqsDoor:
    credentials = dict(pair.split(":", 1) for pair in settings.get("sqs.credentials"))
    return SqsDoor(
        queues,
        clock,
        metrics,
        account_id=settings.text("sqs.account.id"),
        region=settings.text("sqs.region"),
        credentials=credentials,
        first_request_id=uuid.uuid4(),
    )


def _cannot_bind(name: str, address: Address, error: OSError) -> StartRefused:
    return StartRefused(
        f"Nothing can listen on {address} ({name}): {error.strerror}."
        " Choose another address, or port 0 for a free one."
    )


def _advertised(settings: Settings, listener: TcpListener) -> tuple[str, int]:
    """Where clients are told to connect: as configured, else where the node listens."""
    advertised = settings.address("kafka.advertised")
    _host, port = listener.address
    if advertised is None:
        listening = settings.address("kafka.listen")
        assert listening is not None
        return listening.host, port
    return advertised.host, advertised.port or port


def _allow_many_files() -> None:
    """A node needs a descriptor per connection and per segment that is read."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _partitions_max() -> int:
    return max(1, int(_descriptors() * PARTITIONS_SHARE))


def _stop_on_signals(stopped: asyncio.Future[int]) -> None:
    def stop() -> None:
        if not stopped.done():
            stopped.set_result(0)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _stop_on_failure(stopped: asyncio.Future[int], task: asyncio.Task[None]) -> None:
    """These tasks only end by being cancelled; anything else must not go unnoticed."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("the node cannot go on", exc_info=task.exception())
        if not stopped.done():
            stopped.set_result(1)
