"""What messages that wait cost in memory, while their bodies are on disk."""

import time
from collections.abc import Iterator

from bench import sqs
from bench.rows import Row
from bench.samples import Figures
from bench.stand import Stand
from bench.workloads.queues_flow import STEPS, TENS, Flow, fill

BODY_BYTES = 100
WARM_UP_MESSAGES = 10_000
SETTLE_SECONDS = 1.0
MILLION = 1_000_000


def run(stand: Stand) -> Iterator[Row]:
    messages = stand.scale.queue_waiting
    with stand.broker("os", door="sqs") as node:
        url = sqs.create_queue(node.host_and_port, "memory")
        # What the first requests leave behind (buffers, pools, caches) is not the messages'.
        warm_up = Flow(
            stand, node, [url], messages=WARM_UP_MESSAGES, body_bytes=BODY_BYTES, batch=TENS
        )
        for step in STEPS:
            warm_up.run(step, node)
        time.sleep(SETTLE_SECONDS)
        before_mb = node.rss_mb()
        fill(stand, node, url, messages=messages, body_bytes=BODY_BYTES)
        time.sleep(SETTLE_SECONDS)
        each_million_mb = (node.rss_mb() - before_mb) / (messages / MILLION)
    title = f"resident for a million messages of 100 B ({messages:,} waiting)"
    figures = Figures(rss_mb=each_million_mb, population=messages)
    yield Row("queues/memory", title, "rss_mb", figures)
