"""Queues on a fake disk, with a clock that is set, through crashes and restarts."""

import asyncio
import json
import selectors
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, TypeVar

from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock
from tests.fakes.held_disk import HeldDisk
from tests.fakes.poster import FakePoster

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.broker.queues.catalog import QueueCatalog
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queues import Queues
from duolog.broker.queues.receipt_key import establish_receipt_key
from duolog.broker.queues.receiving import Receive, Received
from duolog.broker.queues.sending import Sent
from duolog.config.settings import Settings
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal

T = TypeVar("T")

TURNS = 40
"""Of the event loop: enough for everything that can go on to have done so."""

PATIENCE_SECONDS = 20.0
"""For work on the metadata store's thread, which takes milliseconds. What has not happened by
then never will: the test expects something that the broker does not do."""

REGION, ACCOUNT = "us-east-1", "000000000000"
ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:"


class SetLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is the clock's."""

    def __init__(self, clock: SetClock) -> None:
        super().__init__(selectors.DefaultSelector())
        self._set_clock = clock

    def time(self) -> float:
        return self._set_clock.at_ms / 1000


class QueueHouse:
    """Everything that outlives a process, and the process that runs now.

    Calls that wait are run to their end by `run`; time passes only with `advance`.
    """

    def __init__(
        self,
        path: str,
        settings: Mapping[str, str] | None = None,
        disk: FakeDisk | None = None,
    ) -> None:
        self.clock = SetClock()
        self.loop = SetLoop(self.clock)
        self.disk = disk or FakeDisk()
        self.settings = Settings.load({"sqs.deleted.queue.seconds": "0", **(settings or {})})
        self.failures: list[OSError] = []
        self.poster = FakePoster()
        self._ids = count(1)
        self._path = path
        self.store: SqliteStore = self.run(SqliteStore.open(path, self.clock))
        self.broker: Broker
        self.queues: Queues
        self.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(work)

    def settle(self) -> None:
        async def turns() -> None:
            for _ in range(TURNS):
                await asyncio.sleep(0)
            await happens(
                lambda: not self.queues.opening_count and not self._is_pushing,
                "every queue is open and every push has begun",
            )

        self.run(turns())

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Let everything go on until it holds; AssertionError, and what was awaited, if never."""
        self.run(happens(holds, what))

    @property
    def _is_pushing(self) -> bool:
        return self.queues.pushing.in_progress > len(self.poster.under_way)

    def advance(self, ms: int) -> None:
        self.clock.at_ms += ms
        self.settle()

    def start(self) -> None:
        self.run(self._start())

    async def _start(self) -> None:
        self.broker = await start_broker(
            self.disk,
            self.store,
            new_id=self._new_id,
            clock=self.clock,
            settings=self.settings,
            on_storage_failure=self.failures.append,
        )
        catalog = QueueCatalog(
            self.store, new_id=self._new_id, region=REGION, account=ACCOUNT, hold_ms=0
        )
        key = await establish_receipt_key(self.store, lambda size: bytes(size))
        self.queues = Queues(self.broker, self.store, catalog, self.poster, receipt_key=key)
        await self.queues.start()

    def crash(self, random: Random | None = None) -> None:
        """The power goes: what is not synced is lost, or some of it. Then start again."""
        self.run(self._abandon())
        self.disk.crash(random)
        self.start()

    def kill(self) -> None:
        """The process goes, and what it has written stays. Then start again."""
        self.run(self._abandon())
        self.start()

    def restart(self) -> None:
        async def stop() -> None:
            await self.queues.stop()
            await self.broker.groups.stop()
            await self.broker.stop()

        self.run(stop())
        self.start()

    async def _abandon(self) -> None:
        await self.queues.halt()
        await self.broker.groups.stop()
        await self.queues.catalog.stop()
        await self.broker.catalog.stop()

    def close(self) -> None:
        self.run(self._abandon())
        self.run(self.store.close())
        self.loop.close()

    # What clients do.

    def create(self, name: str, **attributes: str) -> Queue:
        return self.run(self.queues.create(name, attributes, {}))

    def queue(self, name: str) -> Queue:
        return self.queues.get(name)

    def send(self, name: str, *messages: Outgoing) -> list[Sent | Refusal]:
        return self._answer(lambda done: self.queue(name).send(messages, done))

    def receive(
        self,
        name: str,
        count: int = 1,
        *,
        visibility_ms: int | None = None,
        attempt: str | None = None,
    ) -> list[Received]:
        return self._answer(
            lambda done: self.queue(name).receive(
                count=count, wait_ms=0, visibility_ms=visibility_ms, attempt=attempt, done=done
            )
        )

    def park(self, name: str, answers: list[Any], wait_ms: int = 20_000) -> Receive:
        """A long poll; its answer is appended when it comes."""

        async def begin() -> Receive:
            return self.queue(name).receive(
                count=10, wait_ms=wait_ms, visibility_ms=None, attempt=None, done=answers.append
            )

        parked = self.run(begin())
        self.settle()
        return parked

    def send_later(self, name: str, *messages: Outgoing) -> list[Any]:
        """A send that may have to wait for the disk; its answer is appended when it comes."""
        return self._later(lambda done: self.queue(name).send(messages, done))

    def delete_later(self, name: str, *handles: str) -> list[Any]:
        """As `send_later`."""
        return self._later(lambda done: self.queue(name).delete(handles, done))

    def delete(self, name: str, *handles: str) -> list[Refusal | None]:
        return self._answer(lambda done: self.queue(name).delete(handles, done))

    def change_visibility(self, name: str, handle: str, ms: int) -> Refusal | None:
        results = self._answer(
            lambda done: self.queue(name).change_visibility([(handle, ms)], done)
        )
        return results[0]

    def release(self) -> None:
        """Let the disk finish the syncs that it held back."""
        disk = self.disk
        assert isinstance(disk, HeldDisk), "only a HeldDisk holds syncs back"

        async def finish() -> None:
            disk.release()

        self.run(finish())
        self.settle()

    def _later(self, ask: Callable[[Callable[[Any], None]], object]) -> list[Any]:
        answers: list[Any] = []

        async def begin() -> None:
            ask(answers.append)

        self.run(begin())
        self.settle()
        return answers

    def _answer(self, ask: Callable[[Callable[[Any], None]], object]) -> Any:
        """What the callback gets; a refusal of the whole is raised."""

        async def asked() -> Any:
            answers: list[Any] = []
            ask(answers.append)
            await happens(
                lambda: bool(answers),
                "the queue answers, which it never does while its disk is held",
            )
            return answers[0]

        answer = self.run(asked())
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def _new_id(self) -> uuid.UUID:
        return uuid.UUID(int=next(self._ids) << 96)


async def happens(holds: Callable[[], bool], what: str) -> None:
    """Let the loop, whose clock stands still, turn until another thread has done its part."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < ends, f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}"
        await asyncio.sleep(0)


def plain(*texts: str) -> list[Outgoing]:
    return [Outgoing(text) for text in texts]


def grouped(group: str, *texts: str) -> list[Outgoing]:
    """Messages of a FIFO queue, none of which is a repetition."""
    return [Outgoing(text, group_id=group, deduplication_id=f"{group}-{text}") for text in texts]


def redrive(target: str, receives_max: int = 1) -> str:
    """A RedrivePolicy."""
    return json.dumps({"deadLetterTargetArn": ARN + target, "maxReceiveCount": receives_max})


def bodies(received: Sequence[Received]) -> list[str]:
    return [each.message.body for each in received]
