"""A Celery application of one task, for SQS and AMQP alike; run by a worker and by the bench.

A task notes how long it took from the call to its run: both are on one machine and one clock.
"""

import os
import time
from struct import Struct

from celery import Celery

BROKER, NOTES, QUEUE_TYPE = "BENCH_CELERY_BROKER", "BENCH_CELERY_NOTES", "BENCH_CELERY_QUEUE_TYPE"
NOTE = Struct("<d")
QUEUE = "tasks"
PREFETCH = 100
"""The SQS transport fetches once a second when it has as many as it may: with Celery's default
of four, that is four tasks a second on any server."""
_OPTIONS = {
    "sqs": {"is_secure": False, "region": "us-east-1", "wait_time_seconds": 20},
    "amqp": {"confirm_publish": True},
}


def application(broker: str, queue_type: str) -> Celery:
    celery = Celery("bench", broker=broker)
    celery.conf.update(
        broker_transport_options=_OPTIONS[broker.partition(":")[0]],
        task_default_queue=QUEUE,
        task_ignore_result=True,
        worker_send_task_events=False,
        worker_prefetch_multiplier=PREFETCH,
        worker_enable_remote_control=False,
        broker_connection_retry_on_startup=True,
    )
    if queue_type:
        celery.conf.task_default_queue_type = queue_type
    celery.task(note, name="bench.note")
    return celery


def note(called: float) -> None:
    """In one write to a file that is only appended to, so that notes do not mix."""
    with open(os.environ[NOTES], "ab", buffering=0) as notes:
        notes.write(NOTE.pack(time.monotonic() - called))


app = application(os.environ.get(BROKER, "amqp://"), os.environ.get(QUEUE_TYPE, ""))
