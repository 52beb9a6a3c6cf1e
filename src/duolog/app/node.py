"""One node as a process: from settings to served addresses and back."""

import asyncio
import gc
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from functools import partial
from pathlib import Path

import uvloop

from duolog.adapters.http import HttpServer, serve_http
from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.memory import use_huge_pages
from duolog.adapters.tcp import TcpListener, listen_tcp
from duolog.admin_api.cluster import ClusterPages
from duolog.admin_api.handler import AdminApi
from duolog.admin_api.usage import UsagePages
from duolog.app.assembly import DRAIN_SECONDS_MAX, Node
from duolog.app.cluster import Clustered
from duolog.app.data_directory import DataDirectory, Identity, StartRefused
from duolog.app.gauges import register_gauges, register_peer_gauges, register_process_gauges
from duolog.app.listening import cannot_listen
from duolog.app.opening import open_with_room
from duolog.app.peer_doors import listen_to_peers
from duolog.app.pipeline_gauges import register_pipeline_gauges
from duolog.app.process import allow_many_files, descriptors, log_to, stop_on_signals
from duolog.app.queue_gauges import register_queue_gauges
from duolog.app.readiness import expect_membership, follow_membership
from duolog.app.ready_file import ready_file
from duolog.app.systemd import READY, STOPPING, tell_systemd
from duolog.app.usage_counters import register_usage_counters
from duolog.broker.membership.membership import Membership, NodeIdTaken
from duolog.config.address import Address
from duolog.config.pipelines import pipelines_directory
from duolog.config.settings import Settings
from duolog.kafka_api.door import KafkaDoor
from duolog.model.cluster import Registration
from duolog.model.pipeline_state import STATES_FOLDER
from duolog.observe.health import Health
from duolog.observe.log_stream import LogStream
from duolog.observe.logs import get_logger
from duolog.observe.long_turns import LongTurns
from duolog.observe.loop_lag import LoopLagProbe
from duolog.observe.metrics import Metrics
from duolog.ports.http import Handler
from duolog.wire.kafka.schema import preload

__all__ = ["StartRefused", "run"]

GC_THRESHOLDS = (50_000, 5, 1_000)
"""High, because the hot path makes no cycles and the collector would find little; but one
collection looks at 300,000 objects at most, or it would be a long turn of the event loop."""

log = get_logger("node")

OnReady = Callable[[dict[str, str]], None]


def run(settings: Settings, ready_path: Path | None, on_ready: OnReady) -> int:
    """Serve until SIGTERM, SIGINT or SIGHUP; returns the exit code. Raises StartRefused."""
    with ready_file(ready_path) as announce, closing(LogStream(sys.stderr)) as stream:
        log_to(stream, settings)
        allow_many_files()
        use_huge_pages()
        directory = DataDirectory(Path(settings.get("data.dir")).absolute())
        directory.lock()

        def ready(addresses: dict[str, str]) -> None:
            announce(addresses)
            on_ready(addresses)

        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(_serve(settings, directory, ready, stream))
        finally:
            directory.unlock()


async def _serve(
    settings: Settings, directory: DataDirectory, on_ready: OnReady, logged: LogStream
) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stop_on_signals(stopped)
    metrics, health = Metrics(), Health()
    health.set("start", False, "the node is starting")
    async with AsyncExitStack() as cleanup:
        turns = LongTurns()
        turns.start()
        cleanup.callback(turns.stop)
        register_process_gauges(metrics, logged, turns)
        admin_api = AdminApi(health, metrics)
        admin = await _serve_http("admin.listen", settings, admin_api)
        cleanup.push_async_callback(admin.close, 1.0)
        stopped_cleanly = directory.take_clean_stop()
        found = await open_with_room(settings, directory, metrics, health, stopped, cleanup)
        if found is None:
            return await stopped
        node, identity = found
        addresses = await _open_doors(node, settings, cleanup)
        addresses["admin"] = str(Address(*admin.address))
        admin_api.attach(node.queues)
        if node.metering is not None:
            admin_api.attach_usage(UsagePages(identity.node_id, node.metering.told))
        cluster = node.cluster
        if cluster is not None:
            expect_membership(health)
            registration = _registration(
                settings, identity, addresses, node, stopped_cleanly=stopped_cleanly
            )
            membership = await _join(cluster, registration, stopped)
            if not stopped.done():
                cleanup.callback(follow_membership(health, membership))
                admin_api.attach_cluster(_cluster_pages(node, cluster))
        _see_to_duties(node, stopped, cleanup)

        if not stopped.done():
            # Not collected before, a long turn with thousands of partitions: a start makes few
            # cycles.
            gc.freeze()
            health.set("start", True)
            log.info("serving", **addresses, partitions=node.broker.partition_count)
            on_ready(addresses)
            tell_systemd(READY)
            await node.world.disk.offload(preload, lengthy=True)
        code = await stopped
        health.set("start", False, "the node is stopping")
        log.info("stopping")
        tell_systemd(STOPPING)
    # The disk may have failed during the final fsyncs.
    if node.broker.has_failed:
        return 1
    if code == 0 and (cluster is None or cluster.may_forget_last_stop):
        directory.note_clean_stop()
    return code


async def _open_doors(node: Node, settings: Settings, cleanup: AsyncExitStack) -> dict[str, str]:
    """Open the doors for clients and other nodes; returns their addresses.

    The peer door opens first and so closes last: pending acknowledgements and final usage lines are
    committed only once the other nodes have replicated them.
    """
    addresses: dict[str, str] = {}
    if node.cluster is not None:
        peers = await listen_to_peers(settings, node.cluster.door, node.world)
        cleanup.callback(peers.abort_connections)
        cleanup.callback(peers.stop_accepting)
        cleanup.push_async_callback(node.queues.save)
        addresses["peer"] = str(Address(*peers.address))
        if node.metering is not None:
            cleanup.push_async_callback(node.metering.stop)
    door = node.kafka_door
    listener = _listen(settings, door)
    cleanup.callback(listener.abort_connections)
    node.broker.advertised = _advertised(settings, "kafka", listener.address[1])
    cleanup.push_async_callback(door.drain, DRAIN_SECONDS_MAX)
    cleanup.push_async_callback(node.broker.groups.stop)
    cleanup.callback(listener.stop_accepting)
    door.start()
    if "frontend" in settings.get("node.roles"):
        sqs = await _serve_http("sqs.listen", settings, node.sqs_door())
        cleanup.push_async_callback(sqs.close, 1.0)
        addresses["sqs"] = str(Address(*sqs.address))
    register_gauges(node.metrics, node.broker, node.housekeeping, listener)
    cluster = node.cluster
    register_peer_gauges(
        node.metrics, lambda: 0 if cluster is None else len(cluster.reachability.unreachable)
    )
    register_queue_gauges(node.metrics, node.queues)
    register_usage_counters(node.metrics, node.broker.meter)
    register_pipeline_gauges(node.metrics, pipelines_directory(settings) / STATES_FOLDER)
    addresses["kafka"] = str(Address(*listener.address))
    return addresses


def _registration(
    settings: Settings,
    identity: Identity,
    addresses: dict[str, str],
    node: Node,
    *,
    stopped_cleanly: bool,
) -> Registration:
    def advertised(door: str) -> str:
        port = int(addresses[door].rpartition(":")[2])
        return str(Address(*_advertised(settings, door, port)))

    return Registration(
        node=identity.node_id,
        incarnation=str(node.world.new_id()),
        directory=identity.directory,
        stopped_cleanly=stopped_cleanly,
        rack=settings.text("node.rack"),
        host=settings.text("node.host") or socket.gethostname(),
        roles=tuple(settings.get("node.roles")),
        kafka=advertised("kafka"),
        sqs=addresses.get("sqs", ""),
        admin=addresses["admin"],
        peer=advertised("peer"),
    )


async def _join(
    cluster: Clustered, registration: Registration, stopped: asyncio.Future[int]
) -> Membership:
    """Join the cluster; returns once all others know this node, or it is told to stop."""
    try:
        await cluster.join(registration, stopped)
    except NodeIdTaken as error:
        raise StartRefused(f"This node cannot join its cluster: {error}.") from error
    await cluster.until_known(stopped)
    assert cluster.membership is not None
    return cluster.membership


def _cluster_pages(node: Node, cluster: Clustered) -> ClusterPages:
    broker = node.broker
    return ClusterPages(
        broker.cluster_id,
        cluster.view,
        broker.catalog,
        node.world.store,
        broker.requests,
        cluster.is_in_touch,
    )


def _see_to_duties(node: Node, stopped: asyncio.Future[int], cleanup: AsyncExitStack) -> None:
    duties = asyncio.create_task(node.housekeeping.run())
    for task in (duties, *node.followers()):
        task.add_done_callback(partial(_stop_on_failure, stopped))
    cleanup.callback(duties.cancel)
    probe = LoopLagProbe(node.metrics.loop_lag)
    probe.start()
    cleanup.callback(probe.stop)


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
        raise cannot_listen("kafka.listen", address, error) from error


async def _serve_http(name: str, settings: Settings, handler: Handler) -> HttpServer:
    address = settings.address(name)
    assert address is not None
    try:
        return await serve_http(handler, *address, _http_limits(settings))
    except OSError as error:
        raise cannot_listen(name, address, error) from error


def _http_limits(settings: Settings) -> HttpLimits:
    """The limits of HTTP doors, from the same settings as the Kafka door's."""
    request_seconds = settings.integer("frame.receive.ms.max") / 1000
    return HttpLimits(
        connections_max=_connections_max(settings),
        bodies_bytes_total_max=settings.integer("receive.buffer.bytes.total.max"),
        head_seconds_max=min(HttpLimits().head_seconds_max, request_seconds),
        body_seconds_max=request_seconds,
        idle_seconds_max=settings.integer("connection.idle.ms.max") / 1000,
    )


def _connections_max(settings: Settings) -> int:
    """Limit of connections for one door: as set, but at most half of the descriptors, as segments
    need some, too."""
    return min(settings.integer("connections.max"), descriptors() // 2)


def _advertised(settings: Settings, door: str, port: int) -> tuple[str, int]:
    """Address told to clients and nodes: the configured one, else the listening one."""
    advertised = settings.address(f"{door}.advertised")
    if advertised is None:
        listening = settings.address(f"{door}.listen")
        assert listening is not None
        return listening.host, port
    return advertised.host, advertised.port or port


def _stop_on_failure(stopped: asyncio.Future[int], task: asyncio.Task[None]) -> None:
    """Stop the node if a background task fails; these end only by being cancelled."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("a background task failed; the node stops", exc_info=task.exception())
        if not stopped.done():
            stopped.set_result(1)
