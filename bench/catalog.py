"""The groups of workloads by the names that `--only` takes, in the order they run."""

from collections.abc import Callable, Iterator

from bench.comparison.catalog import COMPARISONS
from bench.rows import Row
from bench.stand import Stand
from bench.workloads import (
    backlog,
    cluster_fail_over,
    cluster_speed,
    consume,
    durability,
    latency,
    produce,
    queues_fifo,
    queues_flat,
    queues_latency,
    queues_memory,
    queues_speed,
    small_requests,
    spark_memory,
    spark_read,
    spark_usage,
    spark_write,
)

GROUPS: dict[str, Callable[[Stand], Iterator[Row]]] = {
    "produce": produce.run,
    "consume": consume.run,
    "requests": small_requests.run,
    "latency": latency.run,
    "fsync": durability.run,
    "backlog": backlog.run,
    "queues/speed": queues_speed.run,
    "queues/latency": queues_latency.run,
    "queues/flat/waiting": queues_flat.waiting,
    "queues/flat/in-flight": queues_flat.in_flight,
    "queues/flat/queues": queues_flat.idle_queues,
    "queues/memory": queues_memory.run,
    "queues/fifo": queues_fifo.run,
    "cluster/speed": cluster_speed.throughput,
    "cluster/latency": cluster_speed.latency,
    "cluster/fail-over": cluster_fail_over.leader_killed,
    "cluster/fail-over-etcd": cluster_fail_over.both_killed,
    "cluster/controller": cluster_fail_over.controller_killed,
    "spark/read": spark_read.run,
    "spark/write": spark_write.run,
    "spark/memory": spark_memory.run,
    "spark/usage": spark_usage.run,
}


NAMES = (*GROUPS, *COMPARISONS)


def chosen(names: str) -> list[str]:
    """The groups that a list separated by commas names, alone or by what they are under.

    Raises KeyError with a name that is none.
    """
    found = []
    for name in filter(None, names.split(",")):
        groups = [group for group in NAMES if group == name or group.startswith(name + "/")]
        if not groups:
            raise KeyError(name)
        found += groups
    return found
