"""Action behind `duolog queue redrive`: starts a task on the node, and watches it."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, Row, print_rows, tell
from duolog.cli.queues.doors import Doors
from duolog.client.queues import QueueClient
from duolog.wire.sqs.messages import (
    ListMessageMoveTasksRequest,
    ListMessageMoveTasksResultEntry,
    StartMessageMoveTaskRequest,
)

POLL_SECONDS = 0.5
_UNDER_WAY = ("RUNNING", "CANCELLING")
_DONE = "COMPLETED"
_COLUMNS = ("source", "destination", "status", "moved", "to_move")

Show = Callable[[int, int], None]
"""Called with the number of messages moved, and of those to move."""


async def redrive(
    doors: Doors, name: str, to: str | None, rate: int | None, form: Format, *, wait: bool
) -> None:
    subject = f"queue '{name}'"
    async with doors.queue_client() as client:
        source_arn = await client.arn_of(name)
        destination_arn = None if to is None else await client.arn_of(to)
        request = StartMessageMoveTaskRequest(source_arn, destination_arn, rate)
        started = await client.call(request, subject)
        task = await _latest(client, source_arn, subject)
        if wait:
            try:
                with _progress(name) as show:
                    task = await _watch(client, source_arn, subject, task, show)
            except asyncio.CancelledError:
                tell("The node goes on moving messages.")
                raise
    print_rows([_row(name, to, started.task_handle, task)], form, _COLUMNS)
    if wait and task.status != _DONE:
        reason = task.failure_reason or f"its status is {task.status}"
        raise Failure(
            f"Not all messages of {subject} were moved: {reason}. Run it again to go on.",
            ExitCode.FAILED,
        )


async def _latest(
    client: QueueClient, source_arn: str, subject: str
) -> ListMessageMoveTasksResultEntry:
    """The task just started: a queue has one at a time, and the latest comes first."""
    request = ListMessageMoveTasksRequest(source_arn, 1)
    result = await client.call(request, subject)
    task: ListMessageMoveTasksResultEntry = result.results[0]
    return task


async def _watch(
    client: QueueClient,
    source_arn: str,
    subject: str,
    task: ListMessageMoveTasksResultEntry,
    show: Show,
) -> ListMessageMoveTasksResultEntry:
    while True:
        moved = task.approximate_number_of_messages_moved or 0
        show(moved, task.approximate_number_of_messages_to_move or moved)
        if task.status not in _UNDER_WAY:
            return task
        await asyncio.sleep(POLL_SECONDS)
        task = await _latest(client, source_arn, subject)


@contextmanager
def _progress(name: str) -> Iterator[Show]:
    """A progress bar on a terminal; elsewhere nothing, so that logs stay readable."""
    if not sys.stderr.isatty():
        yield lambda moved, to_move: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task(f"moving messages of {name}", total=None)
        yield lambda moved, to_move: progress.update(bar, completed=moved, total=to_move)


def _row(
    name: str, to: str | None, handle: str | None, task: ListMessageMoveTasksResultEntry
) -> Row:
    return {
        "source": name,
        "destination": to,
        "task_handle": handle,
        "status": task.status,
        "moved": task.approximate_number_of_messages_moved or 0,
        "to_move": task.approximate_number_of_messages_to_move,
        "failure_reason": task.failure_reason,
    }
