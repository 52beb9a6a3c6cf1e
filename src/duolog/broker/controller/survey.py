"""Asks live nodes where their logs end, for elections in which no copy is known to be complete.

An election that took the first copy to be seen could cut what another live node still has. So it
waits for all live replicas to answer. One that does not answer in time could not be copied from
either: the controller then decides without it; an operator is told.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from duolog.broker.replication.log_ends import LogEnds
from duolog.core.controller.image import PartitionId
from duolog.model.cluster import LiveNode
from duolog.model.errors import Refusal
from duolog.model.log_end import LogEnd
from duolog.ports.peers import Peers, PeerUnreachable
from duolog.wire.peer.frames import MalformedFrame
from duolog.wire.peer.kinds import PeerKind
from duolog.wire.peer.log_ends import PLACES_MAX, decode_ends, encode_places

WAIT_S = 5.0
"""Time for which an election waits for a live replica that does not answer."""

ASK_MS = 1_000
RETRY_S = 0.1

Wanted = Mapping[PartitionId, Sequence[LiveNode]]
Ends = Mapping[PartitionId, Mapping[int, LogEnd]]


class Surveyor(Protocol):
    async def ask(self, wanted: Wanted) -> Ends:
        """The log ends of those that answered in time; nodes without a copy are left out."""
        ...


class PeerSurveyor:
    """Implements Surveyor by the links to the other nodes."""

    def __init__(self, node: int, own: LogEnds, peers: Peers | None) -> None:
        self._node = node
        self._own = own
        self._peers = peers

    async def ask(self, wanted: Wanted) -> Ends:
        by_node: dict[int, list[PartitionId]] = {}
        for partition, nodes in wanted.items():
            for live in nodes:
                by_node.setdefault(live.id, []).append(partition)
        found: dict[PartitionId, dict[int, LogEnd]] = {}
        answers = await asyncio.gather(
            *(self._ask_until_answered(node, partitions) for node, partitions in by_node.items())
        )
        for (node, partitions), ends in zip(by_node.items(), answers, strict=True):
            for partition, end in zip(partitions, ends, strict=False):
                if end is not None:
                    found.setdefault(partition, {})[node] = end
        return found

    async def _ask_until_answered(
        self, node: int, partitions: Sequence[PartitionId]
    ) -> list[LogEnd | None]:
        """The node's answer; an empty list if there is none in time."""
        time = asyncio.get_running_loop().time
        until = time() + WAIT_S
        while True:
            try:
                return await self._ask_once(node, partitions)
            except (PeerUnreachable, Refusal, MalformedFrame):
                if time() + RETRY_S >= until:
                    return []
            await asyncio.sleep(RETRY_S)

    async def _ask_once(self, node: int, partitions: Sequence[PartitionId]) -> list[LogEnd | None]:
        ends: list[LogEnd | None] = []
        for first in range(0, len(partitions), PLACES_MAX):
            some = partitions[first : first + PLACES_MAX]
            places = [(each.topic_id.bytes, each.index) for each in some]
            if node == self._node or self._peers is None:
                ends += self._own.of(places)
                continue
            answer = await self._peers.call(
                node, PeerKind.LOG_ENDS, encode_places(places), timeout_ms=ASK_MS
            )
            ends += decode_ends(answer, len(places))
        return ends


class Survey:
    """The controller's questions under way, and their answers: no other election waits for them."""

    def __init__(self, surveyor: Surveyor, told: Callable[[], None]) -> None:
        self._surveyor = surveyor
        self._told = told
        self._wanted: dict[PartitionId, tuple[LiveNode, ...]] = {}
        self._answered: dict[PartitionId, tuple[tuple[LiveNode, ...], Mapping[int, LogEnd]]] = {}
        """Partitions → the nodes that were asked, and the ends of those that answered."""
        self._asking: asyncio.Task[None] | None = None

    def want(self, wanted: Mapping[PartitionId, tuple[LiveNode, ...]]) -> None:
        """Asks about these partitions, and forgets what is known about all others.

        Answers count for the registrations that were asked: a node that registered anew may have
        another log.
        """
        self._wanted = dict(wanted)
        self._answered = {
            partition: (nodes, ends)
            for partition, (nodes, ends) in self._answered.items()
            if wanted.get(partition) == nodes
        }
        if self._missing() and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask())

    @property
    def ends(self) -> Ends:
        return {partition: ends for partition, (_, ends) in self._answered.items()}

    def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def _missing(self) -> dict[PartitionId, tuple[LiveNode, ...]]:
        return {
            partition: nodes
            for partition, nodes in self._wanted.items()
            if nodes and partition not in self._answered
        }

    async def _ask(self) -> None:
        while missing := self._missing():
            ends = await self._surveyor.ask(missing)
            for partition, nodes in missing.items():
                if partition in ends and self._wanted.get(partition) == nodes:
                    self._answered[partition] = nodes, ends[partition]
            self._told()
            await asyncio.sleep(RETRY_S)
