"""What messages that wait cost in memory, while their bodies are on disk."""

import time
from collections.abc import Callable, Iterator

from bench import sqs
from bench.http_load import HttpShape, join_frames
from bench.processes import Server
from bench.rows import Row
from bench.samples import Figures
from bench.stand import Stand
from bench.workloads.queues_flow import TENS, Flow
from bench.workloads.queues_ordered import ordered_sends

BODY_BYTES = 100
PIECE_MESSAGES = 50_000
SETTLE_SECONDS = 1.0
MILLION = 1_000_000
SendPiece = Callable[[int], object]
"""Sends the messages of that piece."""


def run(stand: Stand) -> Iterator[Row]:
    messages = stand.scale.queue_waiting
    title = f"resident for a million messages of 100 B, {messages:,} waiting"
    with stand.broker("os", door="sqs") as node:
        url = sqs.create_queue(node.host_and_port, "memory")
        flow = Flow(stand, node, [url], messages=PIECE_MESSAGES, body_bytes=BODY_BYTES, batch=TENS)
        figures = _grow(stand, node, lambda piece: flow.run("send", node))
    yield Row("queues/memory", title, "rss_mb", figures)
    with stand.broker("os", door="sqs") as node:
        url = sqs.create_queue(node.host_and_port, "memory.fifo", {"FifoQueue": "true"})
        figures = _grow(stand, node, lambda piece: _send_ordered(stand, node, url, piece))
    # For five minutes after a send, whatever became of it, its deduplication id is known.
    yield Row("queues/memory/fifo", f"{title}, FIFO", "rss_mb", figures)


def _grow(stand: Stand, node: Server, send: SendPiece) -> Figures:
    messages = stand.scale.queue_waiting
    # What the first requests leave behind (buffers, pools, caches) is not the messages'.
    send(0)
    time.sleep(SETTLE_SECONDS)
    before_mb = node.rss_mb()
    pieces = messages // PIECE_MESSAGES
    for piece in range(1, pieces + 1):
        stand.progress(f"queues: {piece} of {pieces} times {PIECE_MESSAGES:,} messages")
        send(piece)
    time.sleep(SETTLE_SECONDS)
    each_million_mb = (node.rss_mb() - before_mb) / (messages / MILLION)
    return Figures(rss_mb=each_million_mb, population=messages)


def _send_ordered(stand: Stand, node: Server, url: str, piece: int) -> None:
    numbers = range(piece * PIECE_MESSAGES, (piece + 1) * PIECE_MESSAGES)
    requests = list(ordered_sends(node, url, numbers, body_bytes=BODY_BYTES))
    path = stand.directory / "ordered"
    path.write_bytes(join_frames(requests))
    stand.send_http(node, path, HttpShape(len(requests), stand.scale.seconds_max))
