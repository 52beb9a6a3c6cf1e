"""What each way to drive a server of topics offers."""

from collections.abc import Sequence
from typing import Protocol

from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

MESSAGE_BYTES = 1024
SMALL_BYTES = 100
SHAPES = ((1, 1), (4, 1), (16, 1), (4, 60))
"""Connections, and messages unanswered on each, where each message is a request of its own."""
RATES = (1_000, 10_000)


class Drive(Protocol):
    @property
    def client(self) -> str:
        """What sends and receives, and how: for the page."""

    def flood(self, stand: Stand, server: Server, number: int) -> Sequence[Sample]:
        """As many messages of 1 KB as can be produced in a while, then consumed."""

    def requests(
        self, stand: Stand, server: Server, number: int, connections: int, depth: int
    ) -> Sample:
        """Messages of 100 B, each in a request of its own."""

    def latency(self, stand: Stand, server: Server, number: int, rate: int) -> Sample:
        """Messages of 1 KB at that rate, from the producer to the consumer."""
