"""The two ends of a virtual connection, each part of a process."""

from collections.abc import Callable
from typing import Protocol

from duolog.sim.loop import ProcessLoop
from duolog.sim.pipe import Mark, Pipe
from duolog.sim.prices import RECEIVE, SEND


class Consumer(Protocol):
    """Receives the events of a connection."""

    def received(self, data: bytes) -> None: ...

    def drained(self) -> None: ...

    def lost(self, mark: Mark | None) -> None: ...


class Socket:
    """One end of a connection. Its methods do nothing when called from a dead process."""

    def __init__(
        self,
        loop: ProcessLoop,
        outgoing: Pipe,
        incoming: Pipe,
        addresses: tuple[tuple[str, int], tuple[str, int]],
        on_gone: Callable[["Socket"], None],
    ) -> None:
        self.loop = loop
        self._outgoing = outgoing
        self._incoming = incoming
        self.local, self.remote = addresses
        self._on_gone = on_gone
        self._consumer: Consumer | None = None
        self._is_open = True
        self._is_closing = False
        outgoing.sender = self
        incoming.receiver = self
        incoming.pause()

    @property
    def is_closing(self) -> bool:
        return self._is_closing or not self._is_open

    @property
    def backlog_bytes(self) -> int:
        return self._outgoing.backlog_bytes

    def start(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._incoming.resume()

    def send(self, data: bytes) -> None:
        if self._is_open and not self._is_closing and data and not self.loop.is_dead:
            self.loop.cpu.pay(SEND, len(data))
            self._outgoing.send(data)

    def pause_reading(self) -> None:
        self._incoming.pause()

    def resume_reading(self) -> None:
        if self._is_open:
            self._incoming.resume()

    def close(self) -> None:
        self._leave(Mark.END)

    def abort(self) -> None:
        self._leave(Mark.RESET)

    def vanish(self) -> None:
        """Close silently: the machine lost its power, so the peer is not told."""
        self._is_open = False
        self._incoming.drop()
        self._on_gone(self)

    def break_off(self) -> None:
        """Reset the connection for both ends, as a middlebox would."""
        if self._is_open:
            self._outgoing.send(Mark.RESET)
            self._lose(Mark.RESET)

    # Called by the pipes.

    def arrived(self, data: bytes) -> None:
        if self._consumer is not None and not self._is_closing:
            self.loop.cpu.pay(RECEIVE, len(data))
            self._consumer.received(data)

    def ended(self, mark: Mark) -> None:
        self._lose(mark)

    def emptied(self) -> None:
        if self._is_open and self._consumer is not None:
            self._consumer.drained()

    def _leave(self, mark: Mark) -> None:
        if self._is_open and not self._is_closing and not self.loop.is_dead:
            self._is_closing = True
            self._outgoing.send(mark)
            self.loop.call_soon(self._lose, None)

    def _lose(self, mark: Mark | None) -> None:
        if self._is_open:
            self._is_open = False
            self._incoming.drop()
            self._on_gone(self)
            if self._consumer is not None:
                self._consumer.lost(mark)
