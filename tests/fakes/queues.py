"""A queue engine in memory, with the interface of the real one and none of its durability.

Answers are given at once, unless `hold` was called: then they wait for `release`.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

from duolog.broker.queues.catalog import QueueEntry
from duolog.broker.queues.move_tasks import MoveTask
from duolog.broker.queues.queue import Counts
from duolog.broker.queues.receiving import Asker, Received
from duolog.broker.queues.routing.requests import Level
from duolog.broker.queues.sending import Sent, SentRun
from duolog.broker.queues.turn import Turn
from duolog.config.queue import changed_attributes, parse_queue_config
from duolog.core.queues.message import Message, Outgoing
from duolog.model.errors import Refusal
from duolog.model.names import check_queue_name
from duolog.model.queue_errors import (
    MessageNotInflight,
    PurgeQueueInProgress,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
    ResourceNotFound,
)
from duolog.wire.sqs.digests import md5_of_body

NOW_MS = 1_700_000_000_123


@dataclass
class Stored:
    message: Message
    id: str
    number: int
    receive_count: int = 0
    is_in_flight: bool = False

    @property
    def handle(self) -> str:
        return f"receipt-{self.number}-{self.receive_count}"


class FakeReceive:
    """A receive; parked when it found nothing and may wait."""

    def __init__(self, queue: "FakeQueue", asked: dict[str, Any]) -> None:
        self.queue = queue
        self.asked = asked

    def abandon(self) -> None:
        self.queue.abandoned.append(self)
        if self in self.queue.parked:
            self.queue.parked.remove(self)


class FakeQueue:
    is_undivided = True

    def __init__(self, entry: QueueEntry) -> None:
        self.entry = entry
        self.stored: dict[int, Stored] = {}
        self.sent: list[Outgoing] = []
        self.parked: list[FakeReceive] = []
        self.abandoned: list[FakeReceive] = []
        self.receives: list[dict[str, Any]] = []
        self.visibility_changes: list[tuple[str, int]] = []
        self.refuse_sends: list[Refusal | None] = []
        """What becomes of the next messages; None is success, as is an empty list."""
        self.failure: Refusal | None = None
        """What every request as a whole is answered with."""
        self._numbers = count()
        self._held: list[Callable[[], None]] | None = None

    @property
    def config(self) -> Any:
        return self.entry.config

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for answer in held:
            answer()

    def _answer(self, done: Callable[[Any], None], result: Any) -> None:
        result = self.failure or result
        if self._held is None:
            done(result)
        else:
            self._held.append(lambda: done(result))

    def counts(self) -> Counts:
        in_flight = sum(each.is_in_flight for each in self.stored.values())
        return Counts(len(self.stored) - in_flight, in_flight, 0)

    def put(self, message: Message) -> None:
        """A message that came in by another door."""
        number = next(self._numbers)
        self.stored[number] = Stored(message, f"id-{number}", number)

    def send_plain(self, bodies: Sequence[bytes], done: Callable[[Any], None]) -> None:
        def sent(results: list[Sent | Refusal] | Refusal) -> None:
            if isinstance(results, Refusal) or any(isinstance(each, Refusal) for each in results):
                done(results)
            else:
                fields = [(each.message_id, each.body_md5) for each in results]
                done(SentRun(*map(list, zip(*fields, strict=True))))

        self.send([Outgoing(body.decode()) for body in bodies], sent)

    def send(self, messages: Sequence[Outgoing], done: Callable[[Any], None]) -> None:
        results: list[Sent | Refusal] = []
        for each in messages:
            refusal = self.refuse_sends.pop(0) if self.refuse_sends else None
            if refusal is not None:
                results.append(refusal)
                continue
            self.sent.append(each)
            self.put(
                Message(
                    each.body,
                    each.attributes,
                    each.group_id,
                    NOW_MS,
                    each.deduplication_id,
                    each.trace_header,
                    each.sender_id,
                )
            )
            stored = self.stored[max(self.stored)]
            digest = md5_of_body(each.body.encode())
            results.append(Sent(stored.id, digest, self._sequence_number(stored)))
        self._answer(done, results)

    def _sequence_number(self, stored: Stored) -> str | None:
        return f"{stored.number:020d}" if self.config.fifo else None

    def receive(self, **asked: Any) -> FakeReceive:
        self.receives.append(asked)
        receive = FakeReceive(self, asked)
        ready = [each for each in self.stored.values() if not each.is_in_flight]
        if not ready and asked["wait_ms"] and self.failure is None:
            self.parked.append(receive)
            return receive
        found = []
        for stored in ready[: asked["count"]]:
            stored.receive_count += 1
            stored.is_in_flight = True
            found.append(
                Received(
                    stored.id,
                    stored.handle,
                    stored.message,
                    md5_of_body(stored.message.body.encode()),
                    stored.receive_count,
                    NOW_MS + 5,
                    self._sequence_number(stored),
                )
            )
        self._answer(asked["done"], found)
        return receive

    def receive_each(self, asker: Asker, tokens: Sequence[Any], **asked: Any) -> None:
        for token in tokens:
            receive = self.receive(**asked, done=partial(asker.received, token))
            asker.waits(token, receive.abandon)

    def delete(self, handles: Sequence[str], done: Callable[[Any], None]) -> None:
        self._answer(done, [self._settle(handle, delete=True) for handle in handles])

    def change_visibility(
        self, changes: Sequence[tuple[str, int]], done: Callable[[Any], None]
    ) -> None:
        self.visibility_changes += changes
        self._answer(done, [self._settle(handle, delete=False) for handle, _ in changes])

    def _settle(self, handle: str, *, delete: bool) -> Refusal | None:
        for number, stored in list(self.stored.items()):
            if handle.startswith(f"receipt-{number}-"):
                if handle != stored.handle or not stored.is_in_flight:
                    return MessageNotInflight("It is not in flight.")
                if delete:
                    del self.stored[number]
                return None
        return ReceiptHandleIsInvalid("The input receipt handle is not a valid receipt handle.")

    def refuse_parked(self, refusal: Refusal) -> None:
        parked, self.parked = self.parked, []
        for receive in parked:
            receive.asked["done"](refusal)


class FakeMoveTasks:
    def __init__(self) -> None:
        self.tasks: list[MoveTask] = []

    async def start(self, source: str, destination: str | None, rate: int | None) -> str:
        handle = f"task-{len(self.tasks)}"
        self.tasks.insert(0, MoveTask(handle, source, destination, rate, NOW_MS, to_move=7))
        return handle

    async def cancel(self, handle: str) -> int:
        for task in self.tasks:
            if task.handle == handle and task.status == "RUNNING":
                task.status = "CANCELLED"
                return task.moved
        raise ResourceNotFound("The task does not exist.")

    def list(self, source: str, limit: int) -> Sequence[MoveTask]:
        return [task for task in self.tasks if task.source == source][:limit]


class FakeQueues:
    def __init__(self) -> None:
        self.queues: dict[str, FakeQueue] = {}
        self.purged: list[str] = []
        self.move_tasks = FakeMoveTasks()
        self.turn = Turn()

    def make(self, name: str, **attributes: str) -> FakeQueue:
        entry = QueueEntry(
            name=name,
            id=uuid.uuid4(),
            attributes=attributes,
            config=parse_queue_config(name, attributes),
            tags={},
            created_ms=NOW_MS,
            modified_ms=NOW_MS,
        )
        queue = self.queues[name] = FakeQueue(entry)
        return queue

    def get(self, name: str) -> FakeQueue:
        if name not in self.queues:
            raise QueueDoesNotExist("The specified queue does not exist.")
        return self.queues[name]

    async def create(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]
    ) -> FakeQueue:
        check_queue_name(name)
        known = self.queues.get(name)
        if known is not None:
            if dict(known.entry.attributes) != dict(attributes):
                raise QueueNameExists("A queue already exists with other attributes.")
            return known
        queue = self.make(name, **attributes)
        queue.entry = replace(queue.entry, tags=dict(tags))
        return queue

    async def delete(self, name: str) -> None:
        del self.queues[name]

    async def set_attributes(self, name: str, attributes: Mapping[str, str]) -> None:
        queue = self.get(name)
        changed = changed_attributes(queue.entry.attributes, attributes)
        config = parse_queue_config(name, changed)
        queue.entry = replace(queue.entry, attributes=changed, config=config)

    async def purge(self, name: str) -> int:
        if name in self.purged:
            raise PurgeQueueInProgress("Only one PurgeQueue operation is allowed.")
        self.purged.append(name)
        purged = len(self.get(name).stored)
        self.get(name).stored.clear()
        return purged

    async def edit_tags(
        self, name: str, edit: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        queue = self.get(name)
        queue.entry = replace(queue.entry, tags=edit(queue.entry.tags))

    async def edit_policy(self, name: str, edit: Callable[[str], str]) -> None:
        await self.set_attributes(name, {"Policy": edit(self.get(name).config.policy)})

    async def level(self, name: str) -> Level:
        return Level(*self.get(name).counts(), None, 0)

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        matching = sorted(name for name in self.queues if name.startswith(prefix))
        return [name for name in matching if name > after][:limit]

    def dead_letter_sources(self, name: str, after: str, limit: int) -> list[str]:
        sources = sorted(
            source
            for source, queue in self.queues.items()
            if queue.config.redrive is not None and queue.config.redrive.dead_letter_queue == name
        )
        return [source for source in sources if source > after][:limit]
