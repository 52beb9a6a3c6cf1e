"""A move goes on until there is nothing left to move, whatever happens to the nodes."""

from collections.abc import Sequence
from typing import Any

import pytest

from duolog.broker.queues.move_board import MoveTask
from duolog.broker.queues.move_run import MoveRun
from duolog.broker.queues.routing.requests import Level
from duolog.model.errors import NotLeader, PeerFailed, Refusal, RequestTimedOut


class Board:
    """On which nobody cancels anything."""

    def __init__(self, task: MoveTask) -> None:
        self.task = task

    def get(self, key: str) -> MoveTask:
        return self.task

    async def write(self, task: MoveTask) -> bool:
        return True


class Source:
    """A queue, and the only link to it."""

    def __init__(self, moves: Sequence[int | Refusal], levels: Sequence[int | Refusal]) -> None:
        self._moves = iter(moves)
        self._levels = iter(levels)

    def links(self, name: str) -> list[Any]:
        return [self]

    async def move(self, destination: str | None, count: int) -> int:
        return _told(next(self._moves))

    async def level(self, name: str) -> Level:
        ready = _told(next(self._levels))
        return Level(ready, 0, 0, None, 0, bool(ready))


def _told(answer: int | Refusal) -> int:
    if isinstance(answer, Refusal):
        raise answer
    return answer


async def moved(moves: Sequence[int | Refusal], levels: Sequence[int | Refusal]) -> MoveTask:
    task = MoveTask("handle", "dead", "work", None, 0, to_move=10)
    board: Any = Board(task)
    source: Any = Source(moves, levels)
    run = MoveRun(task, board, source, lambda: 0)
    await run.run()
    return run.task


@pytest.mark.parametrize("unknown", [PeerFailed, RequestTimedOut, NotLeader])
async def test_what_is_not_known_to_be_moved_is_tried_again(unknown: type[Refusal]) -> None:
    task = await moved([4, unknown("gone"), 6], [])
    assert (task.status, task.moved) == ("COMPLETED", 10)


async def test_it_is_not_over_while_a_partition_is_not_served_or_has_messages() -> None:
    task = await moved([4, 0, 0, 2, 0], [NotLeader("nobody"), 2, 0])
    assert (task.status, task.moved) == ("COMPLETED", 6)
