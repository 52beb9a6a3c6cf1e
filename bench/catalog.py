"""The groups of workloads by the names that `--only` takes, in the order they run."""

from collections.abc import Callable, Iterator

from bench.rows import Row
from bench.stand import Stand
from bench.workloads import backlog, consume, durability, latency, produce, small_requests

GROUPS: dict[str, Callable[[Stand], Iterator[Row]]] = {
    "produce": produce.run,
    "consume": consume.run,
    "requests": small_requests.run,
    "latency": latency.run,
    "fsync": durability.run,
    "backlog": backlog.run,
}
