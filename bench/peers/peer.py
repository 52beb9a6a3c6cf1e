"""What a peer is: another server, given the same work as ours."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from bench.comparison.standing import Contestant
from bench.drives.drive import Drive
from bench.processes import Server
from bench.stand import Stand


@dataclass(frozen=True, slots=True)
class TopicServer:
    contestant: Contestant
    serve: Callable[[Stand], AbstractContextManager[Server]]
    """Until the block ends."""
    drive: Drive


class TopicPeer(Protocol):
    """What each module for a server of topics offers."""

    NAME: str

    def missing(self) -> str | None:
        """What must be installed first; None when the peer can be run."""

    def server(self, *, on_disk: bool) -> TopicServer:
        """Acknowledges what is on disk, or what the system has in memory."""


class QueuePeer(Protocol):
    """What each module for a server of the SQS API offers."""

    NAME: str

    def missing(self) -> str | None: ...

    def version(self) -> str: ...

    def serve(self, stand: Stand) -> AbstractContextManager[Server]:
        """Until the block ends; its address is that for SQS clients."""
