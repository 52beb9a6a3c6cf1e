"""Servers of topics: those that acknowledge from the page cache, and those that do from disk."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.comparison.findings import Findings
from bench.comparison.rounds import Round, Turns, alternate
from bench.comparison.standing import Absent
from bench.drives.drive import RATES, SHAPES, Drive
from bench.peers import apache_kafka, duolog, nats, rabbitmq, redis
from bench.peers.peer import TopicPeer, TopicServer
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

PEERS: tuple[TopicPeer, ...] = (apache_kafka, duolog, nats, redis, rabbitmq)


@dataclass(frozen=True, slots=True)
class Load:
    title: str
    parts: Sequence[str]
    work: Callable[[Drive, Stand, Server, int], Sequence[Sample]]
    preheat_times: int = 1


def page_cache(stand: Stand) -> Findings:
    return _compare(stand, on_disk=False)


def disk(stand: Stand) -> Findings:
    return _compare(stand, on_disk=True)


def _compare(stand: Stand, *, on_disk: bool) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        running: list[tuple[TopicServer, Server]] = []
        for peer in PEERS:
            if why := peer.missing():
                findings.absent.append(Absent(peer.NAME, why))
                continue
            entry = peer.server(on_disk=on_disk)
            stand.progress(f"starting {entry.contestant.name}")
            if server := findings.start(stack, entry.contestant, entry.serve(stand)):
                running.append((entry, server))
        for load in _loads():
            turns = [
                Turns(
                    entry.contestant,
                    _round(load, entry.drive, stand, server),
                    stand.scale.preheat_seconds * load.preheat_times,
                )
                for entry, server in running
            ]
            findings.take(
                alternate(
                    load.title,
                    load.parts,
                    turns,
                    rounds=stand.scale.rounds,
                    progress=stand.progress,
                )
            )
    return findings


def _round(load: Load, drive: Drive, stand: Stand, server: Server) -> Round:
    return lambda number: load.work(drive, stand, server, number)


def _loads() -> Iterator[Load]:
    yield Load("produce and consume 1 KB", ("produce", "consume"), _flood, preheat_times=12)
    for connections, depth in SHAPES:
        name = f"requests/{connections}x{depth}"
        yield Load(name, (name,), _requests(connections, depth))
    for rate in RATES:
        name = f"latency/{rate}"
        yield Load(name, (name,), _latency(rate))


def _flood(drive: Drive, stand: Stand, server: Server, number: int) -> Sequence[Sample]:
    return drive.flood(stand, server, number)


def _requests(
    connections: int, depth: int
) -> Callable[[Drive, Stand, Server, int], Sequence[Sample]]:
    return lambda drive, stand, server, number: [
        drive.requests(stand, server, number, connections, depth)
    ]


def _latency(rate: int) -> Callable[[Drive, Stand, Server, int], Sequence[Sample]]:
    return lambda drive, stand, server, number: [drive.latency(stand, server, number, rate)]
