"""Coalesces the writes of all requests of one turn of the event loop.

Sixteen clients that send at the same time make one batch of records and one write; their receives
and deletes make one journal write. A lone request is not delayed: the turn ends as soon as no
other request is ready to be read.
"""

import asyncio
from typing import Protocol


class Writer(Protocol):
    def flush(self) -> None:
        """Writes what was gathered; failures are reported to those who wait for it."""
        ...


class Turn:
    __slots__ = ("_gathering", "_is_scheduled", "_journals")

    def __init__(self) -> None:
        self._gathering: dict[Writer, None] = {}
        self._journals: dict[Writer, None] = {}
        self._is_scheduled = False

    def gather(self, requests: Writer) -> None:
        self._gathering[requests] = None
        if not self._is_scheduled:
            self._schedule()

    def write(self, journal: Writer) -> None:
        self._journals[journal] = None
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Flushes requests first: they, and long polls that they satisfy, add to the journals."""
        self._is_scheduled = True
        try:
            while self._gathering or self._journals:
                while self._gathering:
                    self._gathering.popitem()[0].flush()
                while self._journals:
                    self._journals.popitem()[0].flush()
        finally:
            self._is_scheduled = False
            if self._gathering or self._journals:
                # A writer raised unexpectedly; the others still get their turn.
                self._schedule()
