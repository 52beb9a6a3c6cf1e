"""Metrics of queues, read from their state at the moment they are asked for."""

from collections.abc import Iterator
from functools import partial

from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queues import Queues
from duolog.observe.metrics import Metrics, Sample

_MESSAGES = "Messages in queues, by state."


def register_queue_gauges(metrics: Metrics, queues: Queues) -> None:
    metrics.gauge("duolog_queues", "Queues of this node.", lambda: len(queues))
    metrics.gauge(
        "duolog_queue_waiting_receives",
        "Receives that wait for a message.",
        lambda: sum(queue.parked for queue in queues.all()),
    )
    metrics.gauge(
        "duolog_pushes_in_progress",
        "Messages that are being pushed.",
        lambda: queues.pushing.in_progress,
    )
    metrics.labelled.append(partial(_totals, queues))
    metrics.labelled.append(partial(_pushes, queues))
    metrics.detail("queue", partial(_of_queue, queues))


def _totals(queues: Queues) -> Iterator[Sample]:
    counts = [queue.counts() for queue in queues.all()]
    for index, state in enumerate(("ready", "in_flight", "delayed")):
        yield Sample(
            "duolog_queue_messages",
            _MESSAGES,
            {"state": state},
            sum(each[index] for each in counts),
        )


def _pushes(queues: Queues) -> Iterator[Sample]:
    counts = queues.pushing.counts
    for outcome, count in (("success", counts.succeeded), ("failure", counts.failed)):
        yield Sample(
            "duolog_pushes_total",
            "Pushes to the endpoints of queues, by outcome.",
            {"outcome": outcome},
            count,
            counter=True,
        )


def _of_queue(queues: Queues, name: str) -> Iterator[Sample] | None:
    queue = queues.find(name)
    return None if queue is None else _samples(queues, queue)


def _samples(queues: Queues, queue: Queue) -> Iterator[Sample]:
    name = queue.entry.name
    for state, count in queue.counts()._asdict().items():
        yield Sample("duolog_queue_messages", _MESSAGES, {"queue": name, "state": state}, count)
    yield Sample(
        "duolog_queue_waiting_receives",
        "Receives that wait for a message.",
        {"queue": name},
        queue.parked,
    )
    sent_ms = queue.oldest_sent_ms()
    if sent_ms is not None:
        yield Sample(
            "duolog_queue_oldest_message_age_seconds",
            "Age of the oldest message that is not done.",
            {"queue": name},
            max(0.0, (queues.clock.now_ms() - sent_ms) / 1000),
        )
