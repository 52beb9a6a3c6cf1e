"""When each client was answered, and from that: how long after a fault everything was served.

Pure: callers say what time it is.
"""

from bisect import bisect_left
from typing import NamedTuple

BITES_SECONDS_MAX = 1.0
"""A fault is noticed within this time: a silence that begins later is another one."""


class Client(NamedTuple):
    """One kind of request to one partition, queue or group."""

    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


class Served(NamedTuple):
    seconds: float
    """From the fault until the last client was answered again."""
    last: Client


class Silence(NamedTuple):
    seconds: float
    client: Client

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s ({self.client})"


class Timeline:
    """Answers of each client, in the order in which they came."""

    def __init__(self, clients: list[Client]) -> None:
        self._began: dict[Client, list[float]] = {client: [] for client in clients}
        self._ended: dict[Client, list[float]] = {client: [] for client in clients}

    def note(self, client: Client, began: float, ended: float) -> None:
        """A request that was begun and answered. One thread only notes for one client."""
        self._began[client].append(began)
        self._ended[client].append(ended)

    def served(self, since: float, now: float, silence_max: float, steady: float) -> Served | None:
        """Everything has been answered for `steady` seconds without a long silence; else None."""
        last = Served(-1.0, Client("", ""))
        for client in self._ended:
            seconds = self._served(client, since, now, silence_max)
            if seconds is None:
                return None
            if seconds > last.seconds:
                last = Served(seconds, client)
        return last if now - since - last.seconds >= steady else None

    def unserved(self, since: float, now: float, silence_max: float) -> list[Client]:
        """Clients that are not answered now."""
        return [
            client
            for client in self._ended
            if self._served(client, since, now, silence_max) is None
        ]

    def _served(self, client: Client, since: float, now: float, silence_max: float) -> float | None:
        answered = self._answers(client, since)
        if not answered or now - answered[-1] > silence_max:
            return None
        found = 0.0
        longest = 0.0
        before = since
        for at in answered:
            silence = at - before
            if silence > silence_max:
                found, longest = at - since, silence_max
            elif before - since <= BITES_SECONDS_MAX and silence > longest:
                found, longest = at - since, silence
            before = at
        return found

    def _answers(self, client: Client, since: float) -> list[float]:
        """Times of answers to requests that were begun after `since`, not only answered."""
        began = self._began[client]
        ended = self._ended[client]
        return ended[bisect_left(began, since) : len(began)]

    def silences(self, since: float, until: float) -> dict[str, Silence]:
        """By kind, the longest time in which one of its clients had no answer."""
        found: dict[str, Silence] = {}
        for client, ended in self._ended.items():
            before = since
            for at in [*ended[bisect_left(ended, since) : bisect_left(ended, until)], until]:
                longest = found.get(client.kind)
                if longest is None or at - before > longest.seconds:
                    found[client.kind] = Silence(at - before, client)
                before = at
        return found
