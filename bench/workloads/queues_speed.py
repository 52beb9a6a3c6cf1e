"""What a queue does in a second: single messages beside a bare HTTP server, and tens."""

from collections.abc import Callable, Iterator

from bench import memory, sqs
from bench.processes import Server
from bench.rows import Row
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.queues_flow import STEPS, TENS, Flow, Step

BODY_BYTES = 1024
TENS_TIMES = 5
"""As many messages more go in tens, so that a run of them is not over in a tenth of a second."""
ROUNDS_TIMES = 3
"""A run takes half a second, in which a machine may be slower than in the next."""
FLOOR = "uvloop + httptools"
_ACTIONS: dict[Step, str] = {
    "send": "SendMessage",
    "receive": "ReceiveMessage",
    "delete": "DeleteMessage",
}


def run(stand: Stand) -> Iterator[Row]:
    messages = stand.scale.queue_messages
    with stand.broker("os", door="sqs") as node, stand.http_floor() as floor:
        url = sqs.create_queue(node.host_and_port, "speed")
        single = Flow(stand, node, [url], messages=messages, body_bytes=BODY_BYTES)
        many = messages * TENS_TIMES
        tens = Flow(stand, node, [url], messages=many, body_bytes=BODY_BYTES, batch=TENS)
        memory.touch((messages + many) * BODY_BYTES * (ROUNDS_TIMES * stand.scale.rounds + 1))
        samples = stand.interleave(
            "queues: single messages and tens",
            *(
                _contestant(flow, step, server)
                for flow in (single, tens)
                for step in STEPS
                for server in (node, floor)
            ),
            times=ROUNDS_TIMES,
        )
        single.check_left(0)
    figures = [summarize(taken) for taken in samples]
    pairs = list(zip(figures[::2], figures[1::2], strict=True))
    for step, (ours, bare) in zip(STEPS, pairs[: len(STEPS)], strict=True):
        key, title = f"queues/{step}/1KB", f"{_ACTIONS[step]}, 1 KB, 16 connections"
        yield Row(key, title, "requests_per_s", ours, bare, FLOOR)
    for step, (ours, bare) in zip(STEPS, pairs[len(STEPS) :], strict=True):
        key, title = f"queues/{step}10/1KB", f"{_ACTIONS[step]}, tens of 1 KB, 16 connections"
        yield Row(key, title, "messages_per_s", ours, bare, FLOOR)


def _contestant(flow: Flow, step: Step, server: Server) -> Callable[[int], Sample]:
    return lambda number: flow.run(step, server)
