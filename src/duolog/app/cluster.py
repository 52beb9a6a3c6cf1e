"""The clustered part of a node: its membership, its links to other nodes, its replication."""

import asyncio
from collections.abc import Callable
from typing import Any

from duolog.app.load import LoadGauge
from duolog.app.world import World
from duolog.broker.broker import Broker
from duolog.broker.controller.controller import Controller
from duolog.broker.controller.orphans import OrphanSweep
from duolog.broker.controller.survey import PeerSurveyor, Surveyor
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.departures import Departures
from duolog.broker.membership.everywhere import Everywhere
from duolog.broker.membership.load_report import LoadReporter
from duolog.broker.membership.membership import Membership
from duolog.broker.membership.own_condition import OwnCondition
from duolog.broker.membership.own_statement import OwnStatement
from duolog.broker.queues.queues import Queues
from duolog.broker.replication.log_ends import LogEnds
from duolog.broker.replication.replicator import Replicator
from duolog.broker.reserve import Reserve
from duolog.broker.store_follower import StoreFollower
from duolog.client.peers import PeerLinks
from duolog.client.reachability import Reachability
from duolog.config.settings import Settings
from duolog.core.membership.load_meter import Totals
from duolog.model.cluster import LiveNode, Registration
from duolog.model.errors import NotLeader
from duolog.observe.metrics import Metrics
from duolog.peer_api.door import PeerDoor
from duolog.peer_api.handlers.catch_up import CatchUpHandler
from duolog.peer_api.handlers.fetch import FetchHandler
from duolog.peer_api.handlers.log_ends import LogEndsHandler
from duolog.peer_api.handlers.queues import queue_handlers
from duolog.peer_api.handlers.usage import UsageHandler
from duolog.ports.peers import PeerHandler
from duolog.wire.peer.hello import Hello
from duolog.wire.peer.kinds import PeerKind

_NS_PER_MS = 1_000_000
_TAKEN_IN_SECONDS_MAX = 5.0


class Clustered:
    def __init__(
        self, world: World, settings: Settings, cluster_id: str, view: ClusterView
    ) -> None:
        assert world.peer_network is not None
        self._world = world
        self._settings = settings
        self._cluster_id = cluster_id
        self._node_id = settings.integer("node.id")
        self.view = view
        self.view.subscribe(self._node_changed)
        self.view.nodes.record_listeners.append(self._look_whether_taken_in)
        self._taken_in: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped_cleanly = False
        self.membership: Membership | None = None
        """None until the doors have addresses to register."""
        self.controller: Controller | None = None
        """None unless the node has the controller role."""
        self.reporter: LoadReporter | None = None
        self.condition = OwnCondition()
        """What this node has to tell the controller of itself, whoever notices it."""
        self.statement: OwnStatement | None = None
        name = settings.text("cluster.name") if settings.text("peer.tls.cert") else None
        self._departures = Departures(world.store, view)
        self.peers = PeerLinks(
            world.peer_network,
            lambda node: self.view.address_of(node, "peer"),
            self._hello,
            cluster=name,
            on_refused=self._departures.noticed,
        )
        self.reachability = Reachability(self.peers, world.clock)
        self._handlers: dict[int, PeerHandler] = {}
        self.door = PeerDoor(self._handlers, self._hello, cluster=name)
        self._broker: Broker | None = None
        self._measure: Callable[[], Totals] = Totals
        self._replicator: Replicator | None = None
        self._surveyor: Surveyor | None = None
        self._duties: list[asyncio.Task[Any]] = []

    def surveyor(self, own: LogEnds) -> Surveyor:
        """The way to ask all nodes where their logs end; this one's are `own`."""
        self._handlers[PeerKind.LOG_ENDS] = LogEndsHandler(own)
        self._surveyor = PeerSurveyor(self._node_id, own, self.peers)
        return self._surveyor

    def attach(self, broker: Broker, queues: Queues, metrics: Metrics) -> None:
        """Connect the broker and the queues, before they start: suspended, so that nothing is led
        before the node has joined."""
        self._broker = broker
        self._measure = LoadGauge(broker, metrics).read
        broker.roles.await_registration()
        broker.suspend(NotLeader(f"node {self._node_id} has not joined its cluster yet"))
        self._replicator = Replicator(broker, self.peers, self._world.store, self.condition)
        self._handlers[PeerKind.FETCH] = FetchHandler(self._replicator.copies)
        self._handlers.update(queue_handlers(queues))
        self._handlers[PeerKind.USAGE_APPEND] = UsageHandler(broker)
        self._spread(broker.catalog.follower, PeerKind.CATCH_UP_TOPICS)
        self._spread(queues.catalog.follower, PeerKind.CATCH_UP_QUEUES)
        self._handlers[PeerKind.CATCH_UP_NODES] = CatchUpHandler(self.view.registrations)
        self._tell_of_room(broker.reserve)

    def _tell_of_room(self, reserve: Reserve) -> None:
        """Let the controller, and the leaders that this node follows, know whether it has room."""

        def changed() -> None:
            self.condition.set_full(reserve.is_full)

        reserve.on_change.append(changed)
        changed()

    def _spread(self, follower: StoreFollower[Any], kind: PeerKind) -> None:
        """Make catalog changes wait for the other nodes to see them, and let these wait for this
        node."""
        self._handlers[kind] = CatchUpHandler(follower)
        follower.elsewhere = Everywhere(self.peers, self.view, self._node_id, kind).until

    async def join(self, registration: Registration, stopped: asyncio.Future[int]) -> None:
        """Register this node as alive. Raises NodeIdTaken.

        Waits as long as the store is out of reach, or until the node is told to stop.
        """
        self._prepare(registration)
        joining = asyncio.create_task(self._join())
        await asyncio.wait((joining, stopped), return_when=asyncio.FIRST_COMPLETED)
        if joining.cancel():
            await asyncio.wait((joining,))
        else:
            joining.result()

    def _prepare(self, registration: Registration) -> None:
        assert self._broker is not None
        assert self._replicator is not None
        assert self._surveyor is not None
        settings, world = self._settings, self._world
        self._stopped_cleanly = registration.stopped_cleanly
        self.membership = Membership(
            world.store,
            world.clock,
            registration,
            session_timeout_ms=settings.integer("broker.session.timeout.ms"),
            guard=world.lease_guard,
        )
        self.membership.on_epoch.append(self._broker.registered)
        self.membership.on_epoch.append(lambda epoch: self._look_whether_taken_in())
        self.membership.on_extended.append(self._extended)
        self._broker.liveness.look = self.membership.check
        self.membership.on_suspend.append(self._suspend)
        self.membership.on_resume.append(self._broker.resume)
        if "controller" in registration.roles:
            self.controller = Controller(
                world.store,
                world.clock,
                self.membership,
                self.view,
                self._surveyor,
                topic_defaults=settings.topic_defaults(),
                balance_interval_ms=settings.integer("leader.imbalance.check.interval.ms"),
            )
            self.controller.grow = self._broker.catalog.create_partitions
            self.controller.open = self._broker.catalog.open_partitions
            self.controller.sweep = OrphanSweep(self._broker.catalog, world.clock).sweep
        self._duties.append(self._replicator.start())

    async def _join(self) -> None:
        assert self.membership is not None
        world = self._world
        await self.membership.start()
        if self.controller is not None:
            await self.controller.start()
        self.reporter = LoadReporter(world.store, world.clock, self.membership, self._measure)
        self.reporter.start()
        assert self._replicator is not None
        assert self._broker is not None
        self.statement = OwnStatement(
            world.store,
            world.clock,
            self.membership,
            self.condition,
            unreachable=self.reachability.look,
            readers=self._replicator.copies.readers,
            rebalancing=self._broker.groups.rebalancing,
        )
        self.statement.start()

    async def until_known(self, stopped: asyncio.Future[int]) -> None:
        """Wait until the controller knows this registration, so that replicas placed here stay in
        sync, and then until every other live node does, so that each places replicas here.

        The waits are short, as the cluster may have no controller now, and nodes may hang.
        """
        self._look_whether_taken_in()
        await asyncio.wait(
            (self._taken_in, stopped),
            timeout=_TAKEN_IN_SECONDS_MAX,
            return_when=asyncio.FIRST_COMPLETED,
        )
        assert self.membership is not None
        # Of two nodes that start together, the one that registered later knows the other.
        others = Everywhere(self.peers, self.view, self._node_id, PeerKind.CATCH_UP_NODES)
        known = asyncio.ensure_future(others.until(self.membership.epoch))
        await asyncio.wait((known, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not known.cancel():
            known.result()

    @property
    def may_forget_last_stop(self) -> bool:
        """True if a clean stop of this run may be recorded.

        That needs a clean stop of the last run, or a controller that has already seen the unclean
        one.
        """
        return self._stopped_cleanly or self._taken_in.done()

    def is_in_touch(self) -> bool:
        """True while the lease is held: the view of the cluster is current, and this node counts as
        alive."""
        return self.membership is not None and self.membership.is_serving

    @property
    def tasks(self) -> list[asyncio.Task[Any] | None]:
        tasks: list[asyncio.Task[Any] | None] = [*self._duties]
        tasks += [follower.task for follower in self.view.followers]
        if self.membership is not None:
            tasks.append(self.membership.task)
        if self.controller is not None:
            tasks.append(self.controller.task)
        if self.reporter is not None:
            tasks.append(self.reporter.task)
        if self.statement is not None:
            tasks.append(self.statement.task)
        return tasks

    async def leave(self) -> None:
        """Give up leadership and deregister, so that the others go on without this node."""
        if self.statement is not None:
            await self.statement.stop()
        if self.reporter is not None:
            await self.reporter.stop()
        if self.controller is not None:
            await self.controller.stop()
        if self.membership is not None:
            await self.membership.leave()
        if self._replicator is not None:
            await self._replicator.stop()

    async def close(self) -> None:
        self.door.close()
        await self.reachability.stop()
        await self.peers.close()
        await self._departures.stop()
        await self.view.stop()

    def _hello(self) -> Hello:
        epoch = 0 if self.membership is None else self.membership.epoch
        return Hello(cluster_id=self._cluster_id, node=self._node_id, epoch=epoch)

    def _extended(self, serve_until_ms: int) -> None:
        assert self._broker is not None
        self._broker.liveness.until_ns = serve_until_ms * _NS_PER_MS

    def _suspend(self) -> None:
        assert self._broker is not None
        self._broker.suspend(
            NotLeader(f"node {self._node_id} has lost touch with the metadata store")
        )

    def _node_changed(self, node: int, live: LiveNode | None) -> None:
        if live is None:
            self.peers.forget(node)
        else:
            self.peers.expect(node)
        self._look_whether_taken_in()

    def _look_whether_taken_in(self) -> None:
        record = self.view.records.get(self._node_id)
        epoch = 0 if self.membership is None else self.membership.epoch
        # The view of live nodes and the record arrive by different watches, in any order.
        is_seen = self._node_id in self.view.live
        is_taken_in = is_seen and record is not None and epoch and record.epoch == epoch
        if is_taken_in and not self._taken_in.done():
            self._taken_in.set_result(None)
