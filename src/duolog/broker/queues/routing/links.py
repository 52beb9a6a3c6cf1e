"""Links to the part of a queue that one node leads, this node or another."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.peeking import Page, Peeked
from duolog.broker.queues.receiving import Received
from duolog.broker.queues.routing import requests
from duolog.broker.queues.routing.requests import Level
from duolog.broker.queues.sending import Sent
from duolog.core.queues.message import Outgoing
from duolog.model.errors import NotLeader, PeerFailed, Refusal
from duolog.ports.peers import REQUESTS_LANE, Peers, PeerUnreachable
from duolog.records.record import Record
from duolog.wire.peer.kinds import PeerKind

CALL_MS = 10_000
"""Time-out of a call to another node, whose disk or replicas may be slow."""

ANY_REVISION = 0
"""Accepts any revision of the topic: a standard queue's message may go to any partition."""

Results = list[Sent | Refusal | None]
Settled = list[Refusal | None]


class QueueLink(Protocol):
    """A node's part of a queue. Methods raise Refusal; a cancelled receive hands nothing out."""

    async def send(
        self,
        messages: Sequence[Outgoing],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> Results:
        """Sends messages. `only_known_to`: a partition, which takes only messages whose group it
        has, or that it had before; the result of the others is None.

        Raises NotLeader if the node knows another revision of the topic than the sender.
        """
        ...

    async def accept(
        self,
        records: Sequence[Record],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> list[bool | Refusal]: ...

    async def receive(
        self, count: int, visibility_ms: int | None, attempt: str | None, *, only_known: bool
    ) -> list[Received]: ...

    async def watch(self, wait_ms: int) -> bool:
        """Waits until something can be received; False after `wait_ms`."""
        ...

    async def delete(self, handles: Sequence[str]) -> Settled: ...

    async def change_visibility(self, changes: Sequence[tuple[str, int]]) -> Settled: ...

    async def levels(self, partitions: Sequence[int]) -> list[Level]: ...

    async def purge(self, partitions: Sequence[int]) -> list[int]: ...

    async def replay(self, partitions: Sequence[int], from_ms: int, to_ms: int) -> list[int]: ...

    async def look(
        self, partition: int, from_offset: int, limit: int, state: str | None
    ) -> Page: ...

    async def find(self, partitions: Sequence[int], message_id: str) -> list[Peeked | None]: ...

    async def move(self, destination: str | None, count: int) -> int: ...


class NoPeers:
    """Peers of a sole node: every call fails as unreachable."""

    async def call(
        self, node: int, kind: int, body: bytes, *, timeout_ms: int, lane: str = REQUESTS_LANE
    ) -> memoryview:
        raise PeerUnreachable(
            node, "is not reachable: this node is not part of a cluster", was_sent=False
        )


class RemoteQueue:
    """A QueueLink to the part of a queue that another node leads."""

    def __init__(self, peers: Peers, node: int, entry: QueueEntry) -> None:
        self._peers = peers
        self._node = node
        self._name = entry.name
        self._id = entry.id.bytes

    async def _ask(self, kind: PeerKind, asked: Any, answer: Any, wait_ms: int = 0) -> Any:
        try:
            body = await self._peers.call(
                self._node, kind, requests.encode(asked), timeout_ms=CALL_MS + wait_ms
            )
        except PeerUnreachable as failure:
            if failure.was_sent:
                raise PeerFailed(f"{failure}; the outcome is unknown") from failure
            raise NotLeader(str(failure)) from failure
        try:
            return requests.decode(body, answer)
        except msgspec.MsgspecError as error:
            raise PeerFailed(f"node {self._node} sent a malformed answer: {error}") from error

    async def send(
        self,
        messages: Sequence[Outgoing],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> Results:
        asked = requests.SendAsked(
            self._name, self._id, tuple(messages), topic_revision, only_known_to
        )
        answer = await self._ask(PeerKind.QUEUE_SEND, asked, requests.SentAnswer)
        return requests.unpacked(answer)

    async def accept(
        self,
        records: Sequence[Record],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> list[bool | Refusal]:
        asked = requests.AcceptAsked(
            self._name, self._id, tuple(records), topic_revision, only_known_to
        )
        answer = await self._ask(PeerKind.QUEUE_ACCEPT, asked, list[bool | bytes])
        return requests.unpacked(answer)

    async def receive(
        self, count: int, visibility_ms: int | None, attempt: str | None, *, only_known: bool
    ) -> list[Received]:
        asked = requests.ReceiveAsked(
            self._name, self._id, count, visibility_ms, attempt, only_known
        )
        received: list[Received] = await self._ask(
            PeerKind.QUEUE_RECEIVE, asked, requests.ReceivedAnswer
        )
        return received

    async def watch(self, wait_ms: int) -> bool:
        asked = requests.WatchAsked(self._name, self._id, wait_ms)
        return bool(await self._ask(PeerKind.QUEUE_WATCH, asked, bool, wait_ms))

    async def delete(self, handles: Sequence[str]) -> Settled:
        asked = requests.DeleteAsked(self._name, self._id, tuple(handles))
        answer = await self._ask(PeerKind.QUEUE_DELETE, asked, requests.SettledAnswer)
        return requests.unpacked(answer)

    async def change_visibility(self, changes: Sequence[tuple[str, int]]) -> Settled:
        asked = requests.VisibilityAsked(self._name, self._id, tuple(changes))
        answer = await self._ask(PeerKind.QUEUE_VISIBILITY, asked, requests.SettledAnswer)
        return requests.unpacked(answer)

    async def levels(self, partitions: Sequence[int]) -> list[Level]:
        asked = requests.PartitionsAsked(self._name, self._id, tuple(partitions))
        levels: list[Level] = await self._ask(PeerKind.QUEUE_LEVELS, asked, list[Level])
        return levels

    async def purge(self, partitions: Sequence[int]) -> list[int]:
        asked = requests.PartitionsAsked(self._name, self._id, tuple(partitions))
        purged: list[int] = await self._ask(PeerKind.QUEUE_PURGE, asked, list[int])
        return purged

    async def replay(self, partitions: Sequence[int], from_ms: int, to_ms: int) -> list[int]:
        asked = requests.ReplayAsked(self._name, self._id, tuple(partitions), from_ms, to_ms)
        replayed: list[int] = await self._ask(PeerKind.QUEUE_REPLAY, asked, list[int])
        return replayed

    async def look(self, partition: int, from_offset: int, limit: int, state: str | None) -> Page:
        asked = requests.LookAsked(self._name, self._id, partition, from_offset, limit, state)
        page: Page = await self._ask(PeerKind.QUEUE_LOOK, asked, requests.PageAnswer)
        return page

    async def find(self, partitions: Sequence[int], message_id: str) -> list[Peeked | None]:
        asked = requests.FindAsked(self._name, self._id, tuple(partitions), message_id)
        found: list[Peeked | None] = await self._ask(
            PeerKind.QUEUE_FIND, asked, requests.FindAnswer
        )
        return found

    async def move(self, destination: str | None, count: int) -> int:
        asked = requests.MoveAsked(self._name, self._id, destination, count)
        return int(await self._ask(PeerKind.QUEUE_MOVE, asked, int))


class Answer(asyncio.Future[Any]):
    """A future for a callback's result; a Refusal of the whole request is raised."""

    def tell(self, result: Any) -> None:
        if self.done():
            return
        if isinstance(result, Refusal):
            self.set_exception(result)
        else:
            self.set_result(result)
