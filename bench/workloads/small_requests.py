"""One record per request: what a request costs when there is nothing to amortise it over."""

from collections.abc import Iterator

from bench import requests
from bench.driver import Shape
from bench.processes import Server
from bench.rows import Row
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.payloads import one_record

SHAPES = ((1, 1), (4, 1), (16, 1), (4, 60))
"""Connections, and requests unanswered on each."""
REQUESTS_MAX = 500_000


def run(stand: Stand) -> Iterator[Row]:
    with stand.broker("os") as broker, stand.floor("write") as floor:
        for connections, depth in SHAPES:
            yield one_shape(stand, broker, floor, connections, depth)


def one_shape(stand: Stand, broker: Server, floor: Server, connections: int, depth: int) -> Row:
    plural = "connection" if connections == 1 else "connections"
    manner = "unpipelined" if depth == 1 else f"{depth} deep"
    key = f"requests/{connections}x{depth}"
    title = f"one-record Produce, {connections} {plural}, {manner}"
    batch = one_record()
    shape = Shape(REQUESTS_MAX, stand.scale.seconds_per_run, connections, depth)

    def send(server: Server, number: int) -> Sample:
        with stand.topic(server, f"{key}-{number}") as topic:
            return stand.send(server, requests.produce(topic, batch, acks=1), shape)

    ours, bare = stand.interleave(title, lambda n: send(broker, n), lambda n: send(floor, n))
    return Row(key, title, "requests_per_s", summarize(ours), summarize(bare), "uvloop + pwritev")
