"""Three nodes on this machine beside one: what it costs that nothing can be lost."""

from collections.abc import Iterator

from bench import kafka, local_cluster, memory
from bench.driver import Traffic
from bench.local_cluster import LocalCluster
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.librdkafka import NOT_INSTALLED, Case

REPLICAS = 3
RATE = 1_000
_DELETE_AT_ONCE = {"file.delete.delay.ms": "0"}


def throughput(stand: Stand) -> Iterator[Row]:
    case = Case("1KB", "default")
    title = f"produce {case.title}, three nodes, acks=all, fsync"
    if stand.tools.rdkafka_load is None:
        yield skipped("cluster/produce", title, "mb_per_s", NOT_INSTALLED)
        return
    traffic = case.traffic(stand.scale)

    def alone(server: Server, number: int) -> Sample:
        with stand.topic(server, f"alone-{number}") as topic:
            return stand.librdkafka("produce", server, topic, traffic)

    with stand.broker("fsync") as broker, local_cluster.running(stand.directory) as cluster:
        ours, one = stand.interleave(
            title,
            lambda n: _in_cluster(stand, cluster, "produce", f"copied-{n}", traffic),
            lambda n: alone(broker, n),
        )
    yield Row("cluster/produce", title, "mb_per_s", summarize(ours), summarize(one), "one node")


def latency(stand: Stand) -> Iterator[Row]:
    title = f"end to end, 1 KB at {RATE:,}/s, three nodes, acks=all, fsync"
    if stand.tools.rdkafka_load is None:
        yield skipped("cluster/latency", title, "p99_us", NOT_INSTALLED)
        return
    traffic = Traffic(
        size_bytes=1024,
        count=int(RATE * stand.scale.latency_seconds),
        seconds_max=stand.scale.seconds_max,
        rate=RATE,
        overrides=("linger.ms=0",),
    )
    with local_cluster.running(stand.directory) as cluster:
        (ours,) = stand.interleave(
            title, lambda n: _in_cluster(stand, cluster, "latency", f"timed-{n}", traffic)
        )
    yield Row("cluster/latency", title, "p99_us", summarize(ours))


def _in_cluster(
    stand: Stand, cluster: LocalCluster, mode: str, topic: str, traffic: Traffic
) -> Sample:
    address = cluster.server.host_and_port
    kafka.create_topic(
        address,
        topic,
        partitions=traffic.partitions,
        configs={**_DELETE_AT_ONCE, "min.insync.replicas": "2"},
        replicas=REPLICAS,
    )
    cluster.until_settled()
    # For each node, as much as `Stand.topic` has ready for one.
    memory.touch(REPLICAS * stand.scale.bytes_per_run * 3 // 2)
    try:
        return stand.librdkafka(mode, cluster.server, topic, traffic)
    finally:
        kafka.delete_topic(address, topic)
