"""Parked requests, which wait for their group's answer."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from duolog.core.groups.messages import Answer, Reply, Ticket
from duolog.model.errors import Refusal


class Parking:
    def __init__(self) -> None:
        self._tickets = itertools.count(1)
        self._waiting: dict[Ticket, asyncio.Future[Reply]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @contextmanager
    def ticket(self) -> Iterator[tuple[Ticket, asyncio.Future[Reply]]]:
        """Makes a ticket and the future of its answer, both valid within the block."""
        ticket = Ticket(next(self._tickets))
        self._waiting[ticket] = answered = asyncio.get_running_loop().create_future()
        try:
            yield ticket, answered
        finally:
            del self._waiting[ticket]

    def answer(self, answer: Answer) -> None:
        """Settles the ticket's future; ignores a ticket that nobody waits for any more."""
        answered = self._waiting.get(answer.ticket)
        if answered is not None and not answered.done():
            answered.set_result(answer.reply)

    def refuse_all(self, refusal: Refusal) -> None:
        for ticket in list(self._waiting):
            self.answer(Answer(ticket, refusal))
