"""The load on queues: a standard and a FIFO one, with senders and receivers."""

import asyncio
from dataclasses import dataclass

from duolog.sim.cluster import Cluster
from duolog.sim.oracle.queues import QueueOracle
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.workloads.queue_client import Asker
from duolog.sim.workloads.queueing import VISIBILITY_SECONDS, Receiver, Sender

GROUPS = 3
MESSAGES_PER_SECOND = 2.0
"""Of each group."""
RECEIVERS = 2
QUIET_SECONDS = VISIBILITY_SECONDS * 2
"""When nothing was received for so long, and all is accounted for, the queue is empty."""
DRAIN_SECONDS_MAX = 100.0
"""A clock that was set back can make a message wait for longer than it should."""

STANDARD = "jobs"
FIFO = "steps.fifo"


@dataclass(slots=True)
class _Load:
    oracle: QueueOracle
    senders: list[Sender]
    receivers: list[Receiver]
    sending: list[asyncio.Task[None]]


class QueueLoad:
    def __init__(self, cluster: Cluster, verdict: Verdict) -> None:
        self._cluster = cluster
        self._verdict = verdict
        self._loop = cluster.client_process.loop
        self._loads: list[_Load] = []
        self._urls: dict[str, str] = {}
        self._receiving: list[asyncio.Task[None]] = []

    @property
    def message_count(self) -> int:
        oracles = [load.oracle for load in self._loads]
        return sum(oracle.sent_count + oracle.deleted_count for oracle in oracles)

    async def prepare(self) -> None:
        for name in (STANDARD, FIFO):
            attributes = {"FifoQueue": "true"} if name == FIFO else {}
            created = self._asker(f"creator of {name}").create(name, attributes)
            self._urls[name] = await self._cluster.as_client(created)

    def begin(self) -> None:
        self._loads = [self._begin(name, is_fifo=name == FIFO) for name in (STANDARD, FIFO)]

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
        """What is not done yet."""
        if any(not task.done() for load in self._loads for task in load.sending):
            return "senders"
        return f"receivers, {sum(len(load.oracle.left) for load in self._loads)} are left,"

    def _received(self) -> int:
        return sum(receiver.received for load in self._loads for receiver in load.receivers)

    def _begin(self, name: str, *, is_fifo: bool) -> _Load:
        oracle = QueueOracle(self._verdict, name, is_fifo=is_fifo)
        url, world = self._urls[name], self._cluster.world
        load = _Load(oracle, [], [], [])
        for number in range(GROUPS):
            who = f"{name} group-{number}"
            sender = Sender(self._asker(who), oracle, world.seed.random(who), url)
            load.senders.append(sender)
            work = sender.run(f"group-{number}", MESSAGES_PER_SECOND, is_fifo=is_fifo)
            load.sending.append(self._loop.create_task(work))
        for number in range(RECEIVERS):
            who = f"{name} receiver-{number}"
            receiver = Receiver(world, self._asker(who), oracle, world.seed.random(who), url)
            load.receivers.append(receiver)
            self._receiving.append(self._loop.create_task(receiver.run()))
        return load

    def _asker(self, who: str) -> Asker:
        cluster = self._cluster
        random = cluster.world.seed.random(f"asker {who}")
        return Asker(cluster.names, random, cluster.client_process.clock.now_ms)


async def _all_of(tasks: "list[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks)
