"""What a peer is: another broker, given the same durable work as ours."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

MESSAGE = b"x" * 1024
WINDOW = 1000
"""Messages that a producer may have unacknowledged, and a consumer takes at a time."""
SECONDS_MAX = 120.0
PAGE_CACHE, ON_DISK = "page cache", "fsync"


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
    """One way to run a peer: it is started, given that many messages, and stopped."""

    name: str
    durability: str
    run: Callable[[Stand, int], tuple[Sample, Sample]]
    """What producing and then consuming measured."""


class Peer(Protocol):
    """What each module beside this one offers."""

    def missing(self) -> str | None:
        """What must be installed first; None when the peer can be run."""

    def trials(self) -> Sequence[Trial]:
        """The ways in which it is comparable with ours."""


def timed(server: Server, messages: int, work: Callable[[], None]) -> Sample:
    cpu_before, began = server.cpu_seconds(), time.monotonic()
    work()
    seconds = time.monotonic() - began
    return Sample(seconds, server.cpu_seconds() - cpu_before, messages=messages)


def result_of(trial: Trial, produced: Sample, consumed: Sample) -> PeerResult:
    return PeerResult(
        trial.name,
        trial.durability,
        produced_per_s=produced.messages / produced.seconds,
        produce_cpu_us=produced.cpu_seconds * 1e6 / produced.messages,
        consumed_per_s=consumed.messages / consumed.seconds,
        consume_cpu_us=consumed.cpu_seconds * 1e6 / consumed.messages,
    )
