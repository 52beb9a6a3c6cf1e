"""From sending a message to having it, by a receiver that waits for it in a long poll."""

import json
import time
from collections.abc import Callable, Iterator
from statistics import quantiles

from bench import sqs
from bench.http_line import Line
from bench.http_load import sqs_request
from bench.meter import Meter
from bench.processes import Server
from bench.rows import Row
from bench.samples import Sample, summarize
from bench.signature import AccessKey
from bench.stand import Stand

BODY = "x" * 1024
RATE = 100
"""Messages a second: slow enough that none waits for another."""
TIMES_MIN = 5
PARK_SECONDS = 0.003
"""After this the receiver's request has been read and waits."""
WAIT_SECONDS = 20
ANSWER_SECONDS_MAX = 5.0
"""A poll that a message does not end, as there are with some stand-ins, is not waited for."""
FLOOR = "round trip to uvloop + httptools"


def run(stand: Stand) -> Iterator[Row]:
    title = f"send to receive by long poll, 1 KB at {RATE}/s, fsync"
    times = int(RATE * stand.scale.latency_seconds)
    with stand.broker("fsync", door="sqs") as node, stand.http_floor() as floor:
        url = sqs.create_queue(node.host_and_port, "latency")
        ours, bare = stand.interleave(
            title, lambda n: pass_through(node, url, times), lambda n: _around(floor, url, times)
        )
    yield Row("queues/latency", title, "p50_us", summarize(ours), summarize(bare), FLOOR)


def pass_through(node: Server, url: str, times: int, key: AccessKey | None = None) -> Sample:
    def request(action: str, **fields: object) -> bytes:
        return sqs_request(action, {"QueueUrl": url, **fields}, host=node.address, key=key)

    send = request("SendMessage", MessageBody=BODY)
    receive = request("ReceiveMessage", WaitTimeSeconds=WAIT_SECONDS)

    def once() -> float:
        receiver.send(receive)
        time.sleep(PARK_SECONDS)
        began = time.perf_counter()
        sender.send(send)
        received = receiver.receive()
        took = time.perf_counter() - began
        # Before or after the message was received: either is right.
        sender.receive()
        (message,) = json.loads(received)["Messages"]
        sender.ask(request("DeleteMessage", ReceiptHandle=message["ReceiptHandle"]))
        return took

    address, patience = node.host_and_port, ANSWER_SECONDS_MAX
    with (
        Line(address, timeout_seconds=patience) as sender,
        Line(address, timeout_seconds=patience) as receiver,
    ):
        return _paced(node, times, once)


def _around(floor: Server, url: str, times: int) -> Sample:
    """What the network and our own clock have in it."""
    fields = {"QueueUrl": url, "MessageBody": BODY}
    send = sqs_request("SendMessage", fields, host=floor.address)

    def once() -> float:
        began = time.perf_counter()
        line.ask(send)
        return time.perf_counter() - began

    with Line(floor.host_and_port) as line:
        return _paced(floor, times, once)


def _paced(server: Server, times: int, once: Callable[[], float]) -> Sample:
    meter, own_cpu_before, began = Meter(server), time.process_time(), time.monotonic()
    took_us: list[float] = []
    while len(took_us) < times and (len(took_us) < TIMES_MIN or not _is_late(began, times)):
        time.sleep(max(began + len(took_us) / RATE - time.monotonic(), 0))
        took_us.append(once() * 1e6)
    seconds = time.monotonic() - began
    usage = meter.read(load_cpu_seconds=time.process_time() - own_cpu_before)
    cuts = quantiles(took_us, n=100, method="inclusive")
    return Sample(
        seconds=seconds,
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        messages=len(took_us),
        p50_us=cuts[49],
        p99_us=cuts[98],
        p999_us=max(took_us),
        is_paced=True,
    )


def _is_late(began: float, times: int) -> bool:
    """Some servers look for messages once a second only."""
    return time.monotonic() - began > 2 * times / RATE
