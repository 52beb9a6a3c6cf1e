"""Three nodes of ours beside three of Apache Kafka, all on one machine, with acks=all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial

from bench import local_cluster
from bench.comparison.findings import Findings
from bench.comparison.rounds import Turns, alternate
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Absent, Contestant
from bench.drives.drive import Drive
from bench.drives.kafka import KafkaDrive
from bench.peers import apache_kafka, duolog
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

REPLICAS = PARTITIONS = 3
"""Of each topic: every node leads one partition, and has all."""
RATE = 1_000
CONFIGS: Mapping[str, str] = {"min.insync.replicas": "2"}
Entry = tuple[Contestant, Callable[[Stand], AbstractContextManager[Server]], KafkaDrive]


def compare(stand: Stand) -> Findings:
    findings = Findings()
    with ExitStack() as stack:
        running: list[tuple[Contestant, Server, KafkaDrive]] = []
        servers: dict[str, Server] = {}
        for contestant, serve, drive in _entries(findings):
            stand.progress(f"starting {contestant.name}")
            # Both of ours are topics of the same three nodes.
            cluster = contestant.name.partition(",")[0]
            if cluster in servers:
                findings.contestants.append(contestant)
            elif server := findings.start(stack, contestant, serve(stand)):
                servers[cluster] = server
            else:
                continue
            running.append((contestant, servers[cluster], drive))
        for title, parts, work, preheat_times in (
            ("three nodes, produce and consume 1 KB", ("produce", "consume"), _flood, 60),
            (f"three nodes, {RATE:,} a second", (f"latency/{RATE}",), _latency, 12),
        ):
            turns = [
                Turns(
                    contestant,
                    partial(work, stand, drive, server),
                    stand.scale.preheat_seconds * preheat_times,
                )
                for contestant, server, drive in running
            ]
            findings.take(
                alternate(title, parts, turns, rounds=stand.scale.rounds, progress=stand.progress)
            )
    return findings


def _flood(stand: Stand, drive: Drive, server: Server, number: int) -> Sequence[Sample]:
    return drive.flood(stand, server, number)


def _latency(stand: Stand, drive: Drive, server: Server, number: int) -> Sequence[Sample]:
    return [drive.latency(stand, server, number, RATE)]


def _entries(findings: Findings) -> Iterator[Entry]:
    topics = f"{PARTITIONS} partitions of {REPLICAS} replicas, min.insync.replicas 2"
    if why := apache_kafka.missing():
        findings.absent.append(Absent(f"{apache_kafka.NAME}, three nodes", why))
    else:
        drive = KafkaDrive(CONFIGS, REPLICAS, PARTITIONS)
        contestant = Contestant(
            f"{apache_kafka.NAME}, three nodes",
            apache_kafka.VERSION,
            f"{PAGE_CACHE} of two nodes",
            f"{apache_kafka.CONFIGURATION} each, all of them also controllers; {topics}",
            drive.client,
        )
        yield contestant, _kafka, drive
    for durability, kept in (("replicated", PAGE_CACHE), ("fsync", ON_DISK)):
        drive = KafkaDrive({**CONFIGS, "durability": durability}, REPLICAS, PARTITIONS)
        contestant = Contestant(
            f"Duolog three nodes, {durability}",
            duolog.version(),
            f"{kept} of two nodes",
            f"duolog cluster up, with etcd; {topics}, durability={durability}",
            drive.client,
        )
        yield contestant, _ours, drive


def _kafka(stand: Stand) -> AbstractContextManager[Server]:
    return apache_kafka.serve(stand, "kafka-three", REPLICAS)


@contextmanager
def _ours(stand: Stand) -> Iterator[Server]:
    with local_cluster.running(stand.directory) as cluster:
        yield cluster.server
