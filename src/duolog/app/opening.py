"""Opens everything that a node has stored, as soon as its disk has room for that."""

import asyncio
import random
import secrets
import uuid
from contextlib import AsyncExitStack
from functools import partial

from duolog.adapters.clock import SystemClock
from duolog.adapters.counter_files import LocalCounterFiles
from duolog.adapters.disk import LocalDisk
from duolog.adapters.http_client import HttpPoster
from duolog.adapters.lease_thread import LeaseThread
from duolog.app.assembly import Node, open_node
from duolog.app.data_directory import DataDirectory, Identity, StartRefused
from duolog.app.peer_doors import peer_network
from duolog.app.process import descriptors
from duolog.app.readiness import follow_room
from duolog.app.stores import check_directory, open_etcd, open_store, unusable_metadata
from duolog.app.world import World
from duolog.broker.catalog_entries import TOPICS_PREFIX
from duolog.broker.cluster_id import establish_cluster_id
from duolog.broker.reserve import Reserve
from duolog.broker.storage import DataMissing
from duolog.broker.usage.journal import DIRECTORY
from duolog.broker.usage.meter import FILE_SUFFIX
from duolog.config.settings import Settings
from duolog.core.membership.lease import RENEWALS_PER_TTL
from duolog.core.usage.slots import CHUNK_BYTES
from duolog.observe.health import Health
from duolog.observe.logs import get_logger
from duolog.observe.metrics import Metrics
from duolog.ports.disk import is_no_room
from duolog.ports.metastore import StoreFull, StoreUnavailable

SESSION_ID_MAX = 0x7FFF_FFFF

PARTITIONS_SHARE = 0.75
"""Share of the file descriptors that bounds the partition count; an idle partition needs none."""

OPEN_AGAIN_S_MIN = 0.5
OPEN_AGAIN_S_MAX = 10.0
"""Shortest and longest pause before a node tries again to start on a full disk."""

log = get_logger("node")


async def open_with_room(
    settings: Settings,
    directory: DataDirectory,
    metrics: Metrics,
    health: Health,
    stopped: asyncio.Future[int],
    cleanup: AsyncExitStack,
) -> tuple[Node, Identity] | None:
    """Open everything that is stored, as soon as there is room for it; None if told to stop."""
    disk = LocalDisk(str(directory.path))
    cleanup.callback(disk.close)
    reserve = Reserve(disk, settings.integer("log.reserve.bytes"))
    follow_room(health, reserve)
    await reserve.begin()
    pause_s = OPEN_AGAIN_S_MIN
    while not stopped.done():
        async with AsyncExitStack() as opened:
            try:
                found = await _open(
                    settings, directory, disk, reserve, metrics, health, stopped, opened
                )
            except (OSError, StoreFull) as error:
                if isinstance(error, OSError) and not is_no_room(error):
                    raise
                reserve.free()
                if pause_s == OPEN_AGAIN_S_MIN:
                    log.error("the node waits for room to start", error=str(error))
                health.set("start", False, "the disk is full: the node starts when it has room")
            else:
                directory.name_holder()
                cleanup.push_async_exit(opened.pop_all())
                return found
        await asyncio.wait([stopped], timeout=pause_s)
        await reserve.look()
        pause_s = min(2 * pause_s, OPEN_AGAIN_S_MAX)
    return None


async def _open(
    settings: Settings,
    directory: DataDirectory,
    disk: LocalDisk,
    reserve: Reserve,
    metrics: Metrics,
    health: Health,
    stopped: asyncio.Future[int],
    cleanup: AsyncExitStack,
) -> tuple[Node, Identity]:
    """Open everything that is stored: the metadata store, the log, the queues."""

    def storage_failed(error: Exception) -> None:
        health.set("storage", False, f"the disk failed: {error}")
        if not stopped.done():
            stopped.set_result(1)

    clock = SystemClock()
    poster = HttpPoster()
    cleanup.callback(poster.close)
    try:
        store = await open_store(settings, directory, clock, storage_failed, reserve.free)
        cleanup.push_async_callback(store.close)
        cluster_id = await establish_cluster_id(store, uuid.uuid4)
        is_only_node = not settings.text("cluster.name")
        holds_topics = is_only_node and bool((await store.range(TOPICS_PREFIX)).entries)
        identity = directory.claim(
            cluster_id, settings.integer("node.id"), holds_topics=holds_topics, new_id=uuid.uuid4
        )
        await check_directory(store, settings, identity)
        world = World(
            clock=clock,
            disk=disk,
            store=store,
            poster=poster,
            peer_network=peer_network(settings),
            new_id=uuid.uuid4,
            new_token=secrets.token_bytes,
            new_session_id=lambda: random.randint(1, SESSION_ID_MAX),
            reserve=reserve,
            lease_guard=_guard_lease(settings, clock, cleanup),
            counters=LocalCounterFiles(str(directory.path / DIRECTORY), FILE_SUFFIX, CHUNK_BYTES),
        )
        node = await open_node(
            world, settings, metrics, cluster_id, storage_failed, _partitions_max(), cleanup
        )
    except StoreFull:
        raise
    except StoreUnavailable as error:
        raise unusable_metadata(settings, directory, error) from error
    except DataMissing as error:
        raise StartRefused(
            f"The data directory is incomplete: {error}."
            " Restore it, or delete the topic's metadata by starting with an empty directory."
        ) from error
    except OSError as error:
        if is_no_room(error):
            raise
        raise StartRefused(
            f"The data directory cannot be read and made durable: {error}."
            " Make sure that the disk works, then start again."
        ) from error
    return node, identity


def _guard_lease(
    settings: Settings, clock: SystemClock, cleanup: AsyncExitStack
) -> LeaseThread | None:
    """The thread that renews the lease; None for a lone node."""
    if not settings.text("cluster.name"):
        return None
    interval_ms = settings.integer("broker.session.timeout.ms") // RENEWALS_PER_TTL
    thread = LeaseThread(partial(open_etcd, settings), clock, interval_ms)
    cleanup.push_async_callback(thread.stop)
    return thread


def _partitions_max() -> int:
    return max(1, int(descriptors() * PARTITIONS_SHARE))
