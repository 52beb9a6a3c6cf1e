"""Celery over SQS on Duolog, beside Celery over RabbitMQ."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench import processes
from bench.comparison.findings import Findings
from bench.comparison.rounds import Turns, alternate
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Absent, Contestant
from bench.meter import Meter
from bench.peers import duolog, rabbitmq
from bench.processes import Server, ServerFailed
from bench.samples import Sample
from bench.stand import Durability, Stand

TASKS_A_SECOND = 400
"""Somewhat less than a worker does, so that a round takes about as long as it should."""
PACED_RATE = 50
WORKER_SECONDS_MAX = 60.0
POLL_SECONDS = 0.01
MODULE = "bench.comparison.celery_app"
WORKER = ("worker", "--pool", "prefork", "--concurrency", "1", "--loglevel", "WARNING")
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True, slots=True)
class Entry:
    contestant: Contestant
    serve: Callable[[Stand], AbstractContextManager[Server]]
    scheme: str
    queue_type: str


@dataclass(frozen=True, slots=True)
class Working:
    """A broker with a worker that waits for tasks."""

    entry: Entry
    server: Server
    worker: Server
    send: Callable[[float], Any]
    notes: Path


def compare(stand: Stand) -> Findings:
    findings = Findings()
    if not find_spec("celery"):
        findings.absent.append(Absent("Celery", "the Python package celery is not installed"))
        return findings
    with ExitStack() as stack:
        working = []
        for entry in _entries(findings):
            stand.progress(f"starting {entry.contestant.name}")
            if server := findings.start(stack, entry.contestant, entry.serve(stand)):
                working.append(stack.enter_context(_worker(stand, entry, server)))
        for title, part, run in (
            ("Celery, many tasks", "tasks", _many),
            (f"Celery, {PACED_RATE} tasks a second", "task", _paced),
        ):
            turns = [
                Turns(each.entry.contestant, partial(_round, run, stand, each)) for each in working
            ]
            findings.take(
                alternate(title, [part], turns, rounds=stand.scale.rounds, progress=stand.progress)
            )
    return findings


def _entries(findings: Findings) -> Iterator[Entry]:
    from bench.comparison import celery_app

    celery = f"Celery {metadata.version('celery')}, prefetch {celery_app.PREFETCH}"
    sqs = f"{celery}: SQS transport, one producer, one worker process"
    amqp = f"{celery}: AMQP with confirms, one producer, one worker process"
    yield _ours("os", PAGE_CACHE, sqs)
    if why := rabbitmq.missing():
        findings.absent.append(Absent(rabbitmq.NAME, why))
    else:
        yield _rabbit("classic", "classic queue", PAGE_CACHE, amqp)
    yield _ours("fsync", ON_DISK, sqs)
    if not rabbitmq.missing():
        yield _rabbit("quorum", "quorum queue", ON_DISK, amqp)


def _ours(durability: Durability, kept: str, client: str) -> Entry:
    contestant = Contestant(
        f"Duolog, {durability}",
        duolog.version(),
        kept,
        f"SQS, open; defaults, with topic.durability={durability}",
        client,
    )

    def serve(stand: Stand) -> AbstractContextManager[Server]:
        return stand.broker(durability, door="sqs", label="-celery")

    return Entry(contestant, serve, "sqs://any:any@", "")


def _rabbit(kind: str, what: str, kept: str, client: str) -> Entry:
    contestant = Contestant(
        f"{rabbitmq.NAME} {what}",
        rabbitmq.version(),
        kept,
        f"a durable {what} of one member, persistent messages",
        client,
    )

    def serve(stand: Stand) -> AbstractContextManager[Server]:
        return rabbitmq.serve(stand, f"celery-{kind}")

    return Entry(contestant, serve, "amqp://guest:guest@", kind if kind == "quorum" else "")


@contextmanager
def _worker(stand: Stand, entry: Entry, server: Server) -> Iterator[Working]:
    from bench.comparison import celery_app

    label = f"celery-{server.pid}"
    notes, log_path = stand.directory / f"{label}.notes", stand.directory / f"{label}.log"
    notes.touch()
    broker = entry.scheme + server.address
    environment = os.environ | {
        celery_app.BROKER: broker,
        celery_app.NOTES: str(notes),
        celery_app.QUEUE_TYPE: entry.queue_type,
    }
    argv = [sys.executable, "-m", "celery", "-A", MODULE, *WORKER, *QUIET]
    application = celery_app.application(broker, entry.queue_type)
    task = application.tasks["bench.note"]
    with processes.spawn(label, argv, log_path=log_path, environment=environment) as worker:
        working = Working(entry, server, worker, lambda called: task.apply_async((called,)), notes)
        working.send(time.monotonic())
        _noted(working, 1)
        yield working


def _round(
    run: Callable[[Stand, Working], Sample], stand: Stand, each: Working, number: int
) -> Sequence[Sample]:
    return [run(stand, each)]


def _many(stand: Stand, each: Working) -> Sample:
    """From the first call until the last task has run."""
    tasks = int(TASKS_A_SECOND * stand.scale.seconds_per_run)
    return _measured(each, tasks, rate=None)


def _paced(stand: Stand, each: Working) -> Sample:
    return _measured(each, int(PACED_RATE * stand.scale.latency_seconds), rate=PACED_RATE)


def _measured(each: Working, tasks: int, rate: int | None) -> Sample:
    from bench.comparison import celery_app

    before = each.notes.stat().st_size // celery_app.NOTE.size
    # The worker's time is not the broker's, nor that of others.
    clients_before = time.process_time() + each.worker.cpu_seconds()
    meter, began = Meter(each.server), time.monotonic()
    for number in range(tasks):
        if rate:
            time.sleep(max(began + number / rate - time.monotonic(), 0))
        each.send(time.monotonic())
    _noted(each, before + tasks)
    seconds = time.monotonic() - began
    clients = time.process_time() + each.worker.cpu_seconds() - clients_before
    usage = meter.read(load_cpu_seconds=clients)
    notes = each.notes.read_bytes()[before * celery_app.NOTE.size :]
    took_us = [took * 1e6 for (took,) in celery_app.NOTE.iter_unpack(notes)]
    cuts = quantiles(took_us, n=100, method="inclusive")
    sample = Sample(
        seconds=seconds,
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        messages=tasks,
        p50_us=cuts[49] if rate else None,
        p99_us=cuts[98] if rate else None,
        is_paced=bool(rate),
    )
    return sample.with_memory(each.server.session_resident_mb())


def _noted(each: Working, tasks: int) -> None:
    """Returns once so many tasks have run."""
    from bench.comparison import celery_app

    deadline = time.monotonic() + WORKER_SECONDS_MAX
    while each.notes.stat().st_size < tasks * celery_app.NOTE.size:
        if time.monotonic() > deadline or each.worker.process.poll() is not None:
            raise ServerFailed(f"the worker did not run all tasks: {each.worker.log_tail()}")
        time.sleep(POLL_SECONDS)
