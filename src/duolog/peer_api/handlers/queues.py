"""QUEUE_*: serves the queue partitions that this node leads to other nodes' front ends."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from duolog.broker.queues.routing import requests
from duolog.broker.queues.routing.links import QueueLink
from duolog.model.errors import InvalidRequest
from duolog.ports.peers import Caller, PeerHandler, PeerHandlers
from duolog.wire.peer.kinds import PeerKind


class ServedQueues(Protocol):
    def served(self, name: str, queue_id: bytes) -> QueueLink: ...


async def _send(queue: QueueLink, asked: requests.SendAsked) -> Any:
    return requests.packed(
        await queue.send(
            asked.messages, topic_revision=asked.topic_revision, only_known_to=asked.only_known_to
        )
    )


async def _accept(queue: QueueLink, asked: requests.AcceptAsked) -> Any:
    return requests.packed(
        await queue.accept(
            asked.records, topic_revision=asked.topic_revision, only_known_to=asked.only_known_to
        )
    )


async def _receive(queue: QueueLink, asked: requests.ReceiveAsked) -> Any:
    return await queue.receive(
        asked.count, asked.visibility_ms, asked.attempt, only_known=asked.only_known
    )


async def _watch(queue: QueueLink, asked: requests.WatchAsked) -> Any:
    return await queue.watch(asked.wait_ms)


async def _delete(queue: QueueLink, asked: requests.DeleteAsked) -> Any:
    return requests.packed(await queue.delete(asked.handles))


async def _change_visibility(queue: QueueLink, asked: requests.VisibilityAsked) -> Any:
    return requests.packed(await queue.change_visibility(asked.changes))


async def _levels(queue: QueueLink, asked: requests.PartitionsAsked) -> Any:
    return await queue.levels(asked.partitions)


async def _purge(queue: QueueLink, asked: requests.PartitionsAsked) -> Any:
    return await queue.purge(asked.partitions)


async def _replay(queue: QueueLink, asked: requests.ReplayAsked) -> Any:
    return await queue.replay(asked.partitions, asked.from_ms, asked.to_ms)


async def _look(queue: QueueLink, asked: requests.LookAsked) -> Any:
    return await queue.look(asked.partition, asked.from_offset, asked.limit, asked.state)


async def _find(queue: QueueLink, asked: requests.FindAsked) -> Any:
    return await queue.find(asked.partitions, asked.message_id)


async def _move(queue: QueueLink, asked: requests.MoveAsked) -> Any:
    return await queue.move(asked.destination, asked.count)


_ANSWERS: dict[PeerKind, tuple[Any, Callable[[QueueLink, Any], Awaitable[Any]]]] = {
    PeerKind.QUEUE_SEND: (requests.SendAsked, _send),
    PeerKind.QUEUE_ACCEPT: (requests.AcceptAsked, _accept),
    PeerKind.QUEUE_RECEIVE: (requests.ReceiveAsked, _receive),
    PeerKind.QUEUE_WATCH: (requests.WatchAsked, _watch),
    PeerKind.QUEUE_DELETE: (requests.DeleteAsked, _delete),
    PeerKind.QUEUE_VISIBILITY: (requests.VisibilityAsked, _change_visibility),
    PeerKind.QUEUE_LEVELS: (requests.PartitionsAsked, _levels),
    PeerKind.QUEUE_PURGE: (requests.PartitionsAsked, _purge),
    PeerKind.QUEUE_REPLAY: (requests.ReplayAsked, _replay),
    PeerKind.QUEUE_LOOK: (requests.LookAsked, _look),
    PeerKind.QUEUE_FIND: (requests.FindAsked, _find),
    PeerKind.QUEUE_MOVE: (requests.MoveAsked, _move),
}


def queue_handlers(queues: ServedQueues) -> PeerHandlers:
    """Handlers of the queue requests, by kind."""
    return {kind: _handler(queues, *answering) for kind, answering in _ANSWERS.items()}


def _handler(
    queues: ServedQueues, kind: Any, answer: Callable[[QueueLink, Any], Awaitable[Any]]
) -> PeerHandler:
    async def handle(caller: Caller, body: memoryview) -> bytes:
        try:
            asked = requests.decode(body, kind)
        except msgspec.MsgspecError as error:
            raise InvalidRequest(f"node {caller.node} sent a malformed request: {error}") from error
        return requests.encode(await answer(queues.served(asked.queue, asked.id), asked))

    return handle
