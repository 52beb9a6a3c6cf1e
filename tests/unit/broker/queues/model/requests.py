"""What was asked of a queue and not answered yet, beside what it should be."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.unit.broker.queues.model.reference import Message, Place, Receipt, ReferenceQueue

from duolog.broker.queues.receiving import Receive


class Unread(NamedTuple):
    """Sent, and not readable yet."""

    sent_ms: int
    group: str | None
    due_ms: int


Held = tuple[Message, int, int]
"""A message that was received, how often, and when first."""


@dataclass(eq=False)
class Request:
    check: Callable[[Any], None]
    """What the answer has to pass."""
    may_fail: bool = False
    answers: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Taking(Request):
    """A receive, until it is answered."""

    receive: Receive | None = None
    count: int = 0
    visibility_ms: int = 0
    until_ms: int = 0
    """How long it waits."""
    attempt: str | None = None
    is_repetition: bool = False
    """It gets what it got before."""
    taken_ms: int = 0
    taken: list[Held] = field(default_factory=list)
    is_abandoned: bool = False

    @property
    def handed_out(self) -> list[Place]:
        """What the real queue has given to it."""
        if self.receive is None:
            return []
        return [
            (partition.data.index, offset)
            for partition, offsets in self.receive.handed_out
            for offset in offsets
        ]


@dataclass(eq=False)
class Purging(Request):
    task: asyncio.Task[int] | None = None

    def finished(self, task: asyncio.Task[int]) -> None:
        if not task.cancelled():
            self.answers.append(task.exception() or task.result())


class Pair:
    """One queue, and what it should be."""

    def __init__(self, name: str, model: ReferenceQueue, *, by_group: bool = False) -> None:
        self.name = name
        self.model = model
        self.by_group = by_group
        """Whether a deduplication id is known in its group only."""
        self.retain_ms = 0
        self.unread: dict[str, Unread] = {}
        self.takings: list[Taking] = []
        self.receipts: list[Receipt] = []
        self.attempts: dict[str, Taking] = {}
        self.is_moving = False
