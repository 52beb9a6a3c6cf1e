"""Keeps long work from holding the event loop, on which leases are renewed and clients answered.

Opening queues and reading groups after a fail-over takes seconds of CPU in all. Such work is
admitted one piece at a time, because several at once only take longer each, and rests whenever
its turn has lasted long enough. Nobody waits for other nodes or for the disk while admitted: one
partition without followers would hold up all others.
"""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from duolog.ports.clock import Clock

TURN_NS = 20_000_000
"""CPU time of the event loop's thread after which a piece of work lets others run."""
STEPS_UNSEEN = 32
"""Steps between two looks at the clock, which costs as much as a small step."""

Result = TypeVar("Result")
Item = TypeVar("Item")


class Budget:
    """CPU time left of one turn of the event loop."""

    __slots__ = ("_began_ns", "_clock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns = clock.thread_ns()

    def is_spent(self, steps: int = 1) -> bool:
        """True if, after so many steps, the turn is used up: for callbacks, which cannot rest."""
        self._clock.worked(steps)
        return self._clock.thread_ns() - self._began_ns >= TURN_NS

    async def rest(self, steps: int = 1) -> None:
        """Lets others run, after so many steps, if the turn is used up."""
        if self.is_spent(steps):
            await asyncio.sleep(0)
            self._began_ns = self._clock.thread_ns()

    async def run(self, steps: Generator[None, None, Result]) -> Result:
        """Runs all the steps, resting between them; returns what the generator returns."""
        while True:
            try:
                for _ in range(STEPS_UNSEEN):
                    next(steps)
            except StopIteration as end:
                result: Result = end.value
                return result
            await self.rest(STEPS_UNSEEN)

    async def over(self, items: Iterable[Item]) -> AsyncIterator[Item]:
        """Yields the items, resting between them."""
        for number, item in enumerate(items):
            if number % STEPS_UNSEEN == 0:
                await self.rest(STEPS_UNSEEN)
            yield item


def at_once(steps: Generator[None, None, Result]) -> Result:
    """Runs all the steps without resting: for what must not be seen half done."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


class Admission:
    """Admits one piece of long work at a time, in the order of asking."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[Budget]:
        async with self._lock:
            yield Budget(self._clock)
