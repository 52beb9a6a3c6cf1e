"""Action behind `duolog queue peek`."""

from typing import NamedTuple

import msgspec

from duolog.cli.output import Format, print_rows
from duolog.cli.queues.doors import Doors
from duolog.client.operator import OperatorClient, PeekedMessage

MESSAGES_PER_CALL_MAX = 1_000
UNDONE = "undone"
"""State to ask for unless one is named: few want to see done messages."""
_COLUMNS = ("id", "partition", "offset", "state", "receive_count", "body")


class Wanted(NamedTuple):
    state: str | None
    message_id: str | None
    from_offset: int
    limit: int
    partition: int | None
    """A single partition, or None for all."""


async def peek(doors: Doors, name: str, wanted: Wanted, form: Format) -> None:
    async with doors.operator_client() as client:
        if wanted.message_id is not None:
            found = [await client.message(name, wanted.message_id)]
        else:
            found = await _look(client, name, wanted)
    rows = [{"queue": name, **msgspec.to_builtins(message)} for message in found]
    print_rows(rows, form, _COLUMNS)


async def _look(client: OperatorClient, name: str, wanted: Wanted) -> list[PeekedMessage]:
    if wanted.partition is not None:
        partitions = range(wanted.partition, wanted.partition + 1)
    else:
        partitions = range((await client.queue(name)).partitions)
    found: list[PeekedMessage] = []
    for partition in partitions:
        at: int | None = wanted.from_offset
        while at is not None and len(found) < wanted.limit:
            page = await client.messages(
                name,
                partition=partition,
                from_offset=at,
                limit=min(wanted.limit - len(found), MESSAGES_PER_CALL_MAX),
                state=wanted.state or UNDONE,
            )
            found += page.messages
            at = page.next
    return found
