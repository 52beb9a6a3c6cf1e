"""The load on queues: a standard and a FIFO one, with senders, receivers and dead letters."""

import asyncio
import json
from dataclasses import dataclass, field

from duolog.sim.cluster import Cluster
from duolog.sim.oracle.queues import QueueOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.workloads.queue_client import Asker
from duolog.sim.workloads.queue_plan import HIGH_THROUGHPUT, QueuePlan, plan_queues
from duolog.sim.workloads.receiving import PROLONGED_SECONDS, Receiver
from duolog.sim.workloads.sending import FifoSender, Sender
from duolog.wire.sqs.messages import SetQueueAttributesRequest

SENDERS = 2
GROUPS_EACH = 3
"""Message groups of each sender; no two senders share one, as order holds within one sender's
sends."""
SENDS_PER_SECOND = 1.0
"""Average rate of each sender."""
RECEIVERS = 2
QUIET_SECONDS = PROLONGED_SECONDS + 2
"""Time without a receive after which the queue counts as empty, if no message is missing."""
DRAIN_SECONDS_MAX = 100.0
"""Limit of the wait for missing messages; long, as a clock set back prolongs timeouts."""


@dataclass(slots=True)
class _Load:
    plan: QueuePlan
    oracle: QueueOracle
    url: str = ""
    dead_url: str = ""
    senders: list[Sender] = field(default_factory=list)
    receivers: list[Receiver] = field(default_factory=list)
    sending: list[asyncio.Task[None]] = field(default_factory=list)


class QueueLoad:
    def __init__(self, cluster: Cluster, verdict: Verdict, service: ServiceOracle) -> None:
        self._service = service
        self._cluster = cluster
        self._loop = cluster.client_process.loop
        self._receiving: list[asyncio.Task[None]] = []
        world = cluster.world
        self._loads = [
            _Load(
                plan,
                QueueOracle(
                    verdict,
                    plan.name,
                    lambda: world.now_ns,
                    lambda: not any(each.clock.skew_ms for each in cluster.machines),
                    is_fifo=plan.is_fifo,
                    receives_max=plan.receives_max,
                ),
            )
            for plan in plan_queues(world.seed.random("queues"))
        ]

    @property
    def message_count(self) -> int:
        oracles = [load.oracle for load in self._loads]
        return sum(oracle.sent_count + oracle.deleted_count for oracle in oracles)

    @property
    def standard_topics(self) -> list[str]:
        """Topics whose partition count may grow: standard queues and their dead letters."""
        plans = [load.plan for load in self._loads if not load.plan.is_fifo]
        return [plan.name for plan in plans] + [plan.dead_letters for plan in plans]

    async def spread_groups(self) -> None:
        """Spread the FIFO queue's groups over several partitions. Raises ClientError."""
        for load in self._loads:
            if load.plan.is_fifo:
                request = SetQueueAttributesRequest(load.url, HIGH_THROUGHPUT)
                await self._asker(f"owner of {load.plan.name}").ask(request)

    async def prepare(self) -> None:
        for load in self._loads:
            await self._cluster.as_client(self._create(load))

    async def _create(self, load: _Load) -> None:
        plan, asker = load.plan, self._asker(f"creator of {load.plan.name}")
        attributes = plan.attributes
        if plan.receives_max is not None:
            kind = {"FifoQueue": "true"} if plan.is_fifo else {}
            load.dead_url = await asker.create(plan.dead_letters, kind)
            policy = {
                "deadLetterTargetArn": await asker.arn_of(load.dead_url),
                "maxReceiveCount": plan.receives_max,
            }
            attributes["RedrivePolicy"] = json.dumps(policy)
        load.url = await asker.create(plan.name, attributes)

    def begin(self) -> None:
        for load in self._loads:
            for number in range(SENDERS):
                self._begin_sending(load, number)
            for number in range(RECEIVERS):
                self._begin_receiving(load, f"receiver-{number}", is_dead=False)
            if load.dead_url:
                self._begin_receiving(load, "undertaker", is_dead=True)

    async def finish(self) -> None:
        """Let the senders finish, then receive and delete until nothing is left."""
        for task in self._receiving:
            assert not task.done() or task.result(), "receivers receive for ever"
        for load in self._loads:
            for sender in load.senders:
                sender.stopping = True
            await self._cluster.as_client(_all_of(load.sending))
            for receiver in load.receivers:
                receiver.forgetfulness = 0.0
        waited, received = 0.0, -1
        while received != (received := self._received()) or (
            waited < DRAIN_SECONDS_MAX and any(load.oracle.left for load in self._loads)
        ):
            await asyncio.sleep(QUIET_SECONDS)
            waited += QUIET_SECONDS
        for load in self._loads:
            load.oracle.finish()

    def waits_for(self) -> str:
        """The part of the load that is not done yet, for the failure report."""
        if any(not task.done() for load in self._loads for task in load.sending):
            return "senders"
        return f"receivers, {sum(len(load.oracle.left) for load in self._loads)} are left,"

    def _received(self) -> int:
        return sum(receiver.received for load in self._loads for receiver in load.receivers)

    def _begin_sending(self, load: _Load, number: int) -> None:
        who, world = f"{load.plan.name} sender-{number}", self._cluster.world
        kind = FifoSender if load.plan.is_fifo else Sender
        sender = kind(
            world,
            self._asker(who),
            load.oracle,
            self._service,
            world.seed.random(who),
            load.url,
            delay_seconds=load.plan.delay_seconds,
        )
        load.senders.append(sender)
        groups = [f"group-{number}{at}" for at in range(GROUPS_EACH)]
        load.sending.append(self._loop.create_task(sender.run(groups, SENDS_PER_SECOND)))

    def _begin_receiving(self, load: _Load, name: str, *, is_dead: bool) -> None:
        who, world = f"{load.plan.name} {name}", self._cluster.world
        url = load.dead_url if is_dead else load.url
        random = world.seed.random(who)
        receiver = Receiver(
            world, self._asker(who), load.oracle, self._service, random, url, is_dead=is_dead
        )
        load.receivers.append(receiver)
        self._receiving.append(self._loop.create_task(receiver.run()))

    def _asker(self, who: str) -> Asker:
        cluster = self._cluster
        random = cluster.world.seed.random(f"asker {who}")
        return Asker(cluster.names, random, cluster.client_process.clock.now_ms)


async def _all_of(tasks: "list[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks)
