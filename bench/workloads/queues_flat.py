"""Whether an operation costs the same however much there is: messages waiting, messages in
flight, and idle queues.

Each is measured on two nodes, one with much of it and one with little: on one node, what much
of it costs everybody (the garbage collector, say) would weigh on both sides.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from bench import sqs
from bench.http_load import HttpShape, join_frames, sqs_request
from bench.processes import Server
from bench.rows import Row
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.queues_flow import STEPS, TENS, Flow, Step, fill

FEW_MESSAGES = 1_000
BUSY_QUEUES = 100
BODY_BYTES = 100
CREATED_AT_ONCE = 500
ROUNDS_TIMES = 5
"""The nodes take turns often, because a machine is not as fast from one second to the next, and
what is compared is close."""
Prepare = Callable[[Stand, Server, int], Flow]
"""A flow over queues of a node that has that many of what is measured."""


def waiting(stand: Stand) -> Iterator[Row]:
    many = stand.scale.queue_waiting
    yield from _compare(stand, "waiting", "messages waiting", many, FEW_MESSAGES, _with_waiting)


def in_flight(stand: Stand) -> Iterator[Row]:
    many = stand.scale.queue_in_flight
    yield from _compare(stand, "in-flight", "in flight", many, FEW_MESSAGES, _with_in_flight)


def idle_queues(stand: Stand) -> Iterator[Row]:
    many = stand.scale.queues
    title = f"queues, {BUSY_QUEUES} busy"
    yield from _compare(stand, "queues", title, many, BUSY_QUEUES, _with_queues)


def _compare(
    stand: Stand, name: str, title: str, many: int, few: int, prepare: Prepare
) -> Iterator[Row]:
    with ExitStack() as servers:
        contestants = []
        for count in (many, few):
            node = servers.enter_context(stand.broker("os", door="sqs", label=f"-{count}"))
            contestants.append((prepare(stand, node, count), node))
        samples = stand.interleave(
            f"queues: {many:,} and {few:,} {title}",
            *(_contestant(flow, step, node) for step in STEPS for flow, node in contestants),
            times=ROUNDS_TIMES,
        )
    figures = [summarize(taken) for taken in samples]
    for step, ours, base in zip(STEPS, figures[::2], figures[1::2], strict=True):
        yield Row(
            f"queues/flat/{name}/{step}",
            f"{step} with {many:,} {title}",
            "cpu_us_per_request",
            replace(ours, population=many),
            base,
            f"with {few:,}",
        )


def _contestant(flow: Flow, step: Step, server: Server) -> Callable[[int], Sample]:
    return lambda number: flow.run(step, server)


def _with_waiting(stand: Stand, node: Server, count: int) -> Flow:
    url = sqs.create_queue(node.host_and_port, "flat")
    fill(stand, node, url, messages=count, body_bytes=BODY_BYTES)
    return _flow(stand, node, [url], stand.scale.queue_messages)


def _with_in_flight(stand: Stand, node: Server, count: int) -> Flow:
    url = sqs.create_queue(node.host_and_port, "flat")
    stand.progress(f"queues: taking {count:,} messages in flight")
    taken = Flow(stand, node, [url], messages=count, body_bytes=BODY_BYTES, batch=TENS)
    taken.run("send", node)
    taken.run("receive", node)
    return _flow(stand, node, [url], stand.scale.queue_messages)


def _with_queues(stand: Stand, node: Server, count: int) -> Flow:
    root = sqs.create_queue(node.host_and_port, "flat-0").rpartition("-")[0]
    path = stand.directory / "create"
    for start in range(0, count, CREATED_AT_ONCE):
        stand.progress(f"queues: {start:,} of {count:,} queues created")
        numbers = range(start, min(start + CREATED_AT_ONCE, count))
        create = [_create_request(node, f"flat-{number}") for number in numbers]
        path.write_bytes(join_frames(create))
        stand.send_http(node, path, HttpShape(len(create), stand.scale.seconds_max))
    # Spread over all of them, as busy queues are.
    urls = [f"{root}-{n}" for n in range(0, count, count // BUSY_QUEUES)]
    # A queue that has a turn for itself takes several times as long for a message.
    return _flow(stand, node, urls, stand.scale.queue_messages // ROUNDS_TIMES)


def _create_request(node: Server, name: str) -> bytes:
    return sqs_request("CreateQueue", {"QueueName": name}, host=node.address)


def _flow(stand: Stand, node: Server, urls: Sequence[str], messages: int) -> Flow:
    return Flow(stand, node, urls, messages=messages, body_bytes=BODY_BYTES)
