"""The controller of a cluster: stands for election and, while elected, manages the cluster.

Every node with the role runs one. core/controller decides; this module performs the decisions
one after another, each on an image that includes all earlier ones. After an unknown outcome it
first reads everything again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from duolog.broker.admission import Budget
from duolog.broker.controller.candidacy import Deposed, Term, stand
from duolog.broker.controller.counts import ControllerCounts
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.image_follower import ImageFollower
from duolog.broker.controller.performing import Performer
from duolog.broker.controller.survey import Survey, Surveyor
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.membership import Membership
from duolog.core.controller.autoscale import Scaling
from duolog.core.controller.events import Event
from duolog.core.controller.roll_call import RollCall
from duolog.core.controller.settlement import admissions, settling, wanted_log_ends
from duolog.core.controller.upkeep import Upkeep
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.metastore import MetaStore, StoreUnavailable

log = get_logger("controller")

BALANCE_INTERVAL_MS = 30_000

_STAND_RETRY_S = 0.1
_UNAVAILABLE_RETRY_S = 0.1
_IDLE_LOOK_S = 1.0
"""Interval at which a candidate checks for a vacancy, and a controller its term, unnotified."""


class Controller:
    def __init__(
        self,
        store: MetaStore,
        clock: Clock,
        membership: Membership,
        cluster: ClusterView,
        surveyor: Surveyor,
        *,
        topic_defaults: Mapping[str, str],
        balance_interval_ms: int = BALANCE_INTERVAL_MS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._membership = membership
        self._cluster = cluster
        self._surveyor = surveyor
        self._topic_defaults = topic_defaults
        self._balance_interval_ms = balance_interval_ms
        self._look_s = min(_IDLE_LOOK_S, balance_interval_ms / 1000)
        self._told = asyncio.Event()
        self._roll_call = RollCall()
        self._chores: asyncio.Task[None] | None = None
        self.grow: Callable[[str, int], Awaitable[object]] | None = None
        """Grows a topic to a number of partitions: Catalog.create_partitions."""
        self.open: Callable[[str, int], Awaitable[object]] | None = None
        """Limits the open partitions of a queue's topic: Catalog.open_partitions."""
        self.sweep: Callable[[], Awaitable[None]] | None = None
        """Called periodically while this node is the controller."""
        self.events = EventLog(store, membership.node)
        self.term: Term | None = None
        """This node's current term as controller; None if it is not the controller."""
        self.counts = ControllerCounts()
        self.task: asyncio.Task[None] | None = None
        """The controller's task, which only `stop` ends."""
        cluster.controller_listeners.append(self._told.set)
        membership.on_resume.append(self._told.set)
        membership.on_suspend.append(self._told.set)

    async def start(self) -> None:
        self.task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self.task is not None and self.task.cancel():
            await asyncio.wait({self.task})
        if self._chores is not None:
            self._chores.cancel()
        self.events.stop()

    async def _run(self) -> None:
        while True:
            term = None
            if self._cluster.controller in (None, self._membership.node):
                term = await stand(self._store, self._membership)
            if term is not None:
                await self._rule(term)
            vacant = self._cluster.controller is None and self._membership.is_serving
            await self._pause(_STAND_RETRY_S if vacant else _IDLE_LOOK_S)

    async def _rule(self, term: Term) -> None:
        """Acts as controller until deposed, or until this node is unsure of its term."""
        self.term = term
        self.counts.terms += 1
        follower = ImageFollower(self._store, self._topic_defaults)
        performer = Performer(self._store, term, follower.view, self.events, self.counts)
        upkeep = Upkeep(self._balance_interval_ms, self._clock.now_ms())
        survey = Survey(self._surveyor, follower.changed.set)
        try:
            await follower.start()
            self._roll_call = RollCall()
            self._report_election(term)
            await self._see_to(follower, performer, upkeep, survey)
        except Deposed:
            log.info("another controller was elected", epoch=term.epoch)
        except StoreUnavailable as error:
            log.warning("the metadata store does not answer", error=str(error))
        finally:
            self.term = None
            survey.stop()
            await follower.stop()

    async def _see_to(
        self, follower: ImageFollower, performer: Performer, upkeep: Upkeep, survey: Survey
    ) -> None:
        is_sure = True
        while self._still_rules() and follower.is_following:
            follower.changed.clear()
            try:
                if not is_sure:
                    await follower.read_brokers()
                    await follower.read_catalog()
                is_sure = await self._settle(follower, performer, survey)
                if is_sure:
                    is_sure = await self._keep_up(follower, performer, upkeep)
            except StoreUnavailable:
                is_sure = False
                await asyncio.sleep(_UNAVAILABLE_RETRY_S)
            if is_sure:
                await self._until_changed(follower, upkeep)

    async def _settle(self, follower: ImageFollower, performer: Performer, survey: Survey) -> bool:
        """Handles nodes that came and went. Returns True if all of it could be committed."""
        began_ms = self._clock.monotonic_ms()
        view = follower.view
        if admissions(view.image()):
            # A node must leave every in-sync set before it is admitted, including those that it
            # entered just before it registered anew: the watch may not show these yet.
            await follower.read_catalog()
        image = view.image()
        survey.want(wanted_log_ends(image))
        image = replace(image, log_ends=survey.ends)
        self.events.add(self._roll_call.events(image, self._clock.now_ms()))
        records = admissions(image)
        epochs = [image.live[record.node].epoch for record in records]
        # What changes while this rests makes a decision void: its transaction compares.
        settled = Budget(self._clock).over(settling(image, self._clock.now_ms()))
        decisions = [decision async for decision in settled]
        if not await performer.perform(decisions):
            return False
        if decisions:
            self.counts.settlement_ms = self._clock.monotonic_ms() - began_ms
        return await performer.admit(records, epochs)

    async def _keep_up(self, follower: ImageFollower, performer: Performer, upkeep: Upkeep) -> bool:
        now_ms = self._clock.now_ms()
        is_due = upkeep.is_due(now_ms)
        while decisions := upkeep.decisions(follower.view.image(), now_ms):
            if not await performer.perform(decisions):
                return False
            if follower.changed.is_set():
                # A node may have gone, which is more urgent than upkeep.
                break
        if is_due and (self._chores is None or self._chores.done()):
            scalings = upkeep.scalings(follower.view.image(), now_ms)
            self._chores = asyncio.create_task(self._do_chores(scalings))
        return True

    async def _do_chores(self, scalings: Sequence[Scaling]) -> None:
        """Scales topics and sweeps orphans in a task of its own, so that no election waits."""
        for scaling in scalings:
            await self._scale(scaling)
        if self.sweep is not None:
            await self.sweep()

    async def _scale(self, scaling: Scaling) -> None:
        topic = scaling.topic
        scale = self.grow if scaling.partitions > topic.partitions else self.open
        if scale is not None:
            try:
                await scale(topic.name, scaling.partitions)
            except Refusal as refusal:
                log.warning("partitions not changed", topic=topic.name, why=str(refusal))
            else:
                self.events.add([scaling.event])

    def _still_rules(self) -> bool:
        """True if the term lasts as far as this node knows; only a transaction can prove it."""
        term, membership = self.term, self._membership
        assert term is not None
        is_outdated = self._cluster.controller_epoch_revision > term.epoch_revision
        return membership.is_serving and membership.lease == term.lease and not is_outdated

    async def _until_changed(self, follower: ImageFollower, upkeep: Upkeep) -> None:
        while self._still_rules() and follower.is_following:
            now_ms = self._clock.now_ms()
            wait_ms = upkeep.wait_ms(now_ms)
            if follower.changed.is_set() or upkeep.is_due(now_ms) or wait_ms == 0:
                return
            wait_s = self._look_s if wait_ms is None else min(self._look_s, wait_ms / 1000)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await follower.changed.wait()

    async def _pause(self, seconds: float) -> None:
        """Sleeps until the controller changes, or this node is suspended or resumed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._told.wait()
        self._told.clear()

    def _report_election(self, term: Term) -> None:
        node = self._membership.node
        text = f"Node {node} is the controller, in epoch {term.epoch}."
        self.events.add([Event(self._clock.now_ms(), "controller elected", f"node {node}", text)])
