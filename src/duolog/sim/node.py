"""One node of a simulated cluster: the product's own, on virtual ports.

Mirrors app/node.py, with the sockets, signals and files of a simulated machine; everything behind
app/assembly.py is the same.
"""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import NoReturn

from duolog.adapters.http import serve_http
from duolog.adapters.lease_keeper import LeaseKeeper
from duolog.admin_api.cluster import ClusterPages
from duolog.admin_api.handler import AdminApi
from duolog.app.assembly import DRAIN_SECONDS_MAX, Node, open_node
from duolog.app.cluster import Clustered
from duolog.app.world import World as NodeWorld
from duolog.broker.cluster_id import establish_cluster_id
from duolog.broker.membership.membership import NodeIdTaken
from duolog.config.settings import Settings
from duolog.core.membership.lease import RENEWALS_PER_TTL
from duolog.log.checked_file import read_checked, write_checked
from duolog.model.cluster import ROLES, Registration
from duolog.observe.health import Health
from duolog.observe.metrics import Metrics
from duolog.ports.metastore import MetaStore, StoreUnavailable
from duolog.sim.machine import Process

KAFKA_PORT = 9092
SQS_PORT = 9324
PEER_PORT = 9093
ADMIN_PORT = 9644
HASTE = {
    "log.checkpoint.interval.ms": "5000",
    "log.scrub.interval.ms": "5000",
    "log.retention.check.interval.ms": "10000",
    "offsets.topic.num.partitions": "2",
    "queue.fifo.partitions": "2",
}
"""Settings that make rare work frequent and large counts small, because a seed lasts a minute."""
CLUSTER = {
    "cluster.name": "sim",
    "default.replication.factor": "3",
    "topic.min.insync.replicas": "2",
    # So small that leaders often have more data than one response holds, and followers fetch ahead
    # of their fsync.
    "replica.fetch.response.max.bytes": "1024",
}
PARTITIONS_MAX = 10_000
SESSION_ID_MAX = 0x7FFF_FFFF

IDENTITY = "identity"
CLEAN_STOP = "clean-stop"
"""File that exists if the last process on this disk ended in an orderly way."""


class SimNode:
    def __init__(self, process: Process, number: int, *, is_only_node: bool) -> None:
        self.process = process
        self.number = number
        self._is_only_node = is_only_node
        self._stopped: asyncio.Future[int] = process.loop.create_future()
        self.parts: Node | None = None
        """The assembled node; None until it is open."""
        self.failure: BaseException | None = None

    @staticmethod
    def is_expected(error: BaseException) -> bool:
        """True if a process may end with this error: its disk or the store failed at start-up."""
        return isinstance(error, OSError | StoreUnavailable | NodeIdTaken)

    def stop(self) -> None:
        """Simulate SIGTERM."""
        self._finish(0)

    def _finish(self, code: int) -> None:
        if not self._stopped.done():
            self._stopped.set_result(code)

    async def main(self) -> int:
        process = self.process
        async with AsyncExitStack() as cleanup:
            cluster_id = await establish_cluster_id(process.store, process.new_id)
            directory = self._directory()
            settings = self._settings()
            node = self.parts = await open_node(
                self._world(self._guard_lease(settings, cleanup)),
                settings,
                Metrics(),
                cluster_id,
                lambda error: self._finish(1),
                PARTITIONS_MAX,
                cleanup,
            )
            await self._open_doors(node, cleanup)
            if node.cluster is not None:
                await node.cluster.join(self._registration(directory), self._stopped)
                await self._open_admin_door(node, node.cluster, cleanup)
            duties = asyncio.create_task(node.housekeeping.run())
            cleanup.callback(duties.cancel)
            for task in (duties, *node.followers()):
                task.add_done_callback(self._duty_ended)
            code = await self._stopped
        if self.failure is not None:
            raise self.failure
        if code == 0 and (node.cluster is None or node.cluster.may_forget_last_stop):
            write_checked(process.disk, CLEAN_STOP, b"")
        return code

    def _guard_lease(self, settings: Settings, cleanup: AsyncExitStack) -> LeaseKeeper | None:
        if self._is_only_node:
            return None
        process = self.process

        async def open_store() -> MetaStore:
            return process.lease_store

        interval_ms = settings.integer("broker.session.timeout.ms") // RENEWALS_PER_TTL
        keeper = LeaseKeeper(open_store, process.clock, interval_ms, process.loop)
        process.lease_loop.create_task(keeper.keep())
        cleanup.callback(keeper.end)
        return keeper

    def _world(self, guard: LeaseKeeper | None) -> NodeWorld:
        process = self.process
        return NodeWorld(
            clock=process.clock,
            disk=process.disk,
            store=process.store,
            poster=Nowhere(),
            peer_network=None if self._is_only_node else process.network,
            new_id=process.new_id,
            new_token=process.random.randbytes,
            new_session_id=partial(process.random.randint, 1, SESSION_ID_MAX),
            lease_guard=guard,
        )

    def _settings(self) -> Settings:
        flags = {"node.id": str(self.number), **HASTE}
        if not self._is_only_node:
            flags |= CLUSTER
        return Settings.load(flags)

    async def _open_doors(self, node: Node, cleanup: AsyncExitStack) -> None:
        network = self.process.network
        listener = await network.listen("", KAFKA_PORT, node.kafka_door.new_session)
        cleanup.callback(listener.abort_connections)
        node.broker.advertised = listener.address
        cleanup.push_async_callback(node.kafka_door.drain, DRAIN_SECONDS_MAX)
        cleanup.push_async_callback(node.broker.groups.stop)
        cleanup.callback(listener.stop_accepting)
        node.kafka_door.start()
        sqs = await serve_http(node.sqs_door(), "", SQS_PORT)
        cleanup.push_async_callback(sqs.close, 1.0)
        if node.cluster is not None:
            peers = await network.listen("", PEER_PORT, node.cluster.door.new_session)
            cleanup.callback(peers.abort_connections)
            cleanup.callback(peers.stop_accepting)
            cleanup.push_async_callback(node.queues.save)

    async def _open_admin_door(
        self, node: Node, cluster: Clustered, cleanup: AsyncExitStack
    ) -> None:
        broker, api = node.broker, AdminApi(Health(), node.metrics)
        api.attach(node.queues)
        store = self.process.store
        api.attach_cluster(
            ClusterPages(
                broker.cluster_id,
                cluster.view,
                broker.catalog,
                store,
                broker.requests,
                cluster.is_in_touch,
            )
        )
        admin = await serve_http(api, "", ADMIN_PORT)
        cleanup.push_async_callback(admin.close, 1.0)

    def _directory(self) -> str:
        """Identity of this disk's data directory, created on an empty disk."""
        disk = self.process.disk
        found = read_checked(disk, IDENTITY)
        if found is None:
            found = str(self.process.new_id()).encode()
            write_checked(disk, IDENTITY, found)
        return found.decode()

    def _registration(self, directory: str) -> Registration:
        process, name = self.process, self.process.machine.name
        stopped_cleanly = process.disk.exists(CLEAN_STOP)
        process.disk.remove(CLEAN_STOP)
        process.disk.directory("").sync()
        return Registration(
            node=self.number,
            incarnation=str(process.new_id()),
            directory=directory,
            stopped_cleanly=stopped_cleanly,
            rack="",
            host=name,
            roles=ROLES,
            kafka=f"{name}:{KAFKA_PORT}",
            sqs=f"{name}:{SQS_PORT}",
            peer=f"{name}:{PEER_PORT}",
        )

    def _duty_ended(self, task: "asyncio.Task[None]") -> None:
        """End the process if a background task failed; these end only by being cancelled."""
        if not task.cancelled() and task.exception() is not None:
            self.failure = self.failure or task.exception()
            self._finish(1)


class Nowhere:
    """Poster for a world without HTTP endpoints, to which no queue pushes."""

    async def post(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("no simulated queue pushes")
