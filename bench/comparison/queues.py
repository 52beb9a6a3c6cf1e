"""Servers of the SQS API: Duolog open, with credentials and on disk, beside the stand-ins."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from bench import sqs
from bench.comparison.findings import Findings
from bench.comparison.rounds import FAILURES, Round, Turns, alternate
from bench.comparison.standing import MEMORY, ON_DISK, PAGE_CACHE, Absent, Contestant
from bench.peers import duolog, elasticmq, moto
from bench.peers.peer import QueuePeer
from bench.processes import Server
from bench.samples import Sample
from bench.signature import AccessKey
from bench.stand import Durability, Stand
from bench.workloads.queues_flow import STEPS, Flow
from bench.workloads.queues_latency import RATE, pass_through

PEERS: tuple[QueuePeer, ...] = (elasticmq, moto)
CONNECTIONS = (1, 4, 16)
BODY_BYTES = 1024
PROBE_MESSAGES = 100
PROBES_MIN = 3
KEY = AccessKey("bench", "a-secret-of-the-benchmark")
CLIENT = "http_load.c: kept connections, boto3's headers, one request unanswered on each"
Serve = Callable[[Stand], AbstractContextManager[Server]]


@dataclass(slots=True)
class QueueServer:
    contestant: Contestant
    server: Server
    url: str
    flow: Flow
    key: AccessKey | None


def compare(stand: Stand) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        running = []
        for contestant, serve, key in _entries(findings):
            stand.progress(f"starting {contestant.name}")
            if server := findings.start(stack, contestant, serve(stand)):
                try:
                    running.append(_prepared(stand, contestant, server, key))
                except FAILURES as failure:
                    findings.absent.append(Absent(contestant.name, str(failure)))
        for connections in CONNECTIONS:
            _alternate(
                stand,
                findings,
                f"queues, connections: {connections}",
                [f"{step}/{connections}" for step in STEPS],
                [(each, partial(_flow, each, connections)) for each in running],
            )
        _alternate(
            stand,
            findings,
            "queues, long polls",
            ["poll"],
            [(each, partial(_poll, stand, each)) for each in running],
        )
    return findings


def _alternate(
    stand: Stand,
    findings: Findings,
    title: str,
    parts: Sequence[str],
    rounds: Sequence[tuple[QueueServer, Round]],
) -> None:
    turns = [Turns(each.contestant, run) for each, run in rounds]
    findings.take(
        alternate(title, parts, turns, rounds=stand.scale.rounds, progress=stand.progress)
    )


def _entries(findings: Findings) -> list[tuple[Contestant, Serve, AccessKey | None]]:
    """Each of ours beside one of the others, as far as these are there."""
    ours: list[tuple[Contestant, Serve, AccessKey | None]] = [
        _duolog("os", None),
        _duolog("os", KEY),
        _duolog("fsync", None),
    ]
    others: list[tuple[Contestant, Serve, AccessKey | None]] = []
    for peer in PEERS:
        if why := peer.missing():
            findings.absent.append(Absent(peer.NAME, why))
        else:
            contestant = Contestant(peer.NAME, peer.version(), MEMORY, "defaults", CLIENT)
            others.append((contestant, peer.serve, None))
    pairs = zip_longest(others, ours)
    return [entry for pair in pairs for entry in pair if entry is not None]


def _duolog(
    durability: Durability, key: AccessKey | None
) -> tuple[Contestant, Serve, AccessKey | None]:
    kept = f"defaults, with topic.durability={durability}"
    contestant = Contestant(
        f"Duolog, {durability}" + (", credentials" if key else ""),
        duolog.version(),
        ON_DISK if durability == "fsync" else PAGE_CACHE,
        f"{kept} and sqs.credentials: every request is signed" if key else f"{kept}; open",
        CLIENT + (", signed beforehand" if key else ""),
    )
    settings = {"sqs.credentials": f"{key.name}:{key.secret}"} if key else {}
    label = duolog.LABEL + ("-signed" if key else "")

    def serve(stand: Stand) -> AbstractContextManager[Server]:
        return stand.broker(durability, door="sqs", label=label, settings=settings)

    return contestant, serve, key


def _prepared(
    stand: Stand, contestant: Contestant, server: Server, key: AccessKey | None
) -> QueueServer:
    """Some are a hundred times slower than others: each gets what it can do in the time, the same
    in all rounds."""
    url = sqs.create_queue(server.host_and_port, "compared", key=key)
    messages, probes, began = PROBE_MESSAGES, 0, time.monotonic()
    while probes < PROBES_MIN or time.monotonic() - began < stand.scale.preheat_seconds:
        probes += 1
        flow = Flow(stand, server, [url], messages=messages, body_bytes=BODY_BYTES, key=key)
        samples = [flow.run(step, server) for step in STEPS]
        rate = messages / max(sample.seconds for sample in samples)
        possible = int(rate * stand.scale.seconds_per_run)
        messages = max(PROBE_MESSAGES, min(possible, stand.scale.queue_messages))
    flow = Flow(stand, server, [url], messages=messages, body_bytes=BODY_BYTES, key=key)
    return QueueServer(contestant, server, url, flow, key)


def _flow(each: QueueServer, connections: int, number: int) -> Sequence[Sample]:
    """Memory is that of all messages waiting."""
    sent, received, deleted = STEPS
    server = each.server
    sample = each.flow.run(sent, server, connections=connections)
    return [
        sample.with_memory(server.session_resident_mb()),
        each.flow.run(received, server, connections=connections),
        each.flow.run(deleted, server, connections=connections),
    ]


def _poll(stand: Stand, each: QueueServer, number: int) -> Sequence[Sample]:
    times = int(RATE * stand.scale.latency_seconds)
    return [pass_through(each.server, each.url, times, each.key)]
