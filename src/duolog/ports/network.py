"""Connections that this node opens or accepts. adapters/ has sockets, sim a virtual network."""

from collections.abc import Callable
from typing import Protocol

from duolog.ports.transport import Session, Transport

NewSession = Callable[[Transport], Session]


class Listener(Protocol):
    @property
    def address(self) -> tuple[str, int]: ...

    def stop_accepting(self) -> None: ...

    def abort_connections(self) -> None: ...


class Network(Protocol):
    async def dial(self, host: str, port: int, new_session: NewSession) -> None:
        """Connects, then drives the session. Raises OSError."""
        ...

    async def listen(self, host: str, port: int, new_session: NewSession) -> Listener:
        """Listens; port 0 takes a free one. Raises OSError."""
        ...
