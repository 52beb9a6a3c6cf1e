"""What a peer is: another broker, given the same durable work as ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.samples import Sample
from bench.stand import Stand

MESSAGE_BYTES = 1024
WINDOW = 1000
"""Messages that a producer may have unacknowledged."""


@dataclass(frozen=True, slots=True)
class PeerResult:
    name: str
    durability: str = ""
    """What an acknowledgement means: in the page cache, or on disk."""
    produced_per_s: float | None = None
    produce_cpu_us: float | None = None
    """The server's, for each message."""
    consumed_per_s: float | None = None
    consume_cpu_us: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to run a peer."""

    durability: str
    run: Callable[[Stand, int], tuple[Sample, Sample]]
    """Starts it, produces and consumes that many messages, stops it."""


class Peer(Protocol):
    """A module in this package."""

    NAME: str

    def available(self) -> str | None:
        """None when it can be run, else what is missing."""

    def trials(self) -> Sequence[Trial]: ...


def result_of(name: str, durability: str, produced: Sample, consumed: Sample) -> PeerResult:
    return PeerResult(
        name,
        durability,
        produced_per_s=produced.messages / produced.seconds,
        produce_cpu_us=produced.cpu_seconds * 1e6 / produced.messages,
        consumed_per_s=consumed.messages / consumed.seconds,
        consume_cpu_us=consumed.cpu_seconds * 1e6 / consumed.messages,
    )
