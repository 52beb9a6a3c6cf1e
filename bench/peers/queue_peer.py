"""What a peer of our queues is: another server of the SQS API, sent the same requests."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from bench import sqs
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand
from bench.workloads.queues_flow import STEPS, Flow

BODY_BYTES = 1024
PROBE_MESSAGES = 100
MEMORY = "memory"
"""An acknowledged message is in the server's memory, and nowhere else."""


@dataclass(frozen=True, slots=True)
class QueuePeerResult:
    name: str
    durability: str = ""
    """What an acknowledgement means: in memory, in the page cache, or on disk."""
    sent_per_s: float | None = None
    send_cpu_us: float | None = None
    """The server's, for each message."""
    received_per_s: float | None = None
    receive_cpu_us: float | None = None
    deleted_per_s: float | None = None
    delete_cpu_us: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class QueueTrial:
    """One way to run a peer: it is started, given messages one by one, and stopped."""

    name: str
    durability: str
    serve: Callable[[Stand], AbstractContextManager[Server]]
    """Until the block ends; its address is that for SQS clients."""


class QueuePeer(Protocol):
    def missing(self) -> str | None:
        """What must be installed first; None when the peer can be run."""

    def trials(self) -> Sequence[QueueTrial]:
        """The ways in which it is comparable with ours."""


def measure(stand: Stand, trial: QueueTrial) -> QueuePeerResult:
    with trial.serve(stand) as server:
        url = sqs.create_queue(server.host_and_port, "peer")
        probe = _pass_through(stand, server, url, PROBE_MESSAGES)[0]
        # Some are a hundred times slower than others: each gets what it can do in the time.
        possible = int(probe.messages / probe.seconds * stand.scale.seconds_per_run)
        messages = max(PROBE_MESSAGES, min(possible, stand.scale.queue_messages))
        sent, received, deleted = _pass_through(stand, server, url, messages)
    return QueuePeerResult(
        trial.name,
        trial.durability,
        *_speed_and_cpu(sent),
        *_speed_and_cpu(received),
        *_speed_and_cpu(deleted),
    )


def _pass_through(stand: Stand, server: Server, url: str, messages: int) -> list[Sample]:
    flow = Flow(stand, server, [url], messages=messages, body_bytes=BODY_BYTES)
    return [flow.run(step, server) for step in STEPS]


def _speed_and_cpu(sample: Sample) -> tuple[float, float]:
    return sample.messages / sample.seconds, sample.cpu_seconds * 1e6 / sample.messages
