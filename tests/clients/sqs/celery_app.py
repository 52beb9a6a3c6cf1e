"""A Celery application as its users write one. Its tasks note what they do in a file."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from celery import Celery, Task

VISIBILITY_SECONDS = 60
"""Longer than a worker has a message before it runs it, however slow the machine is."""

app = Celery("tests", broker=os.environ.get("CELERY_BROKER", "memory://"))
app.conf.update(
    broker_transport_options={
        "is_secure": False,
        "region": "us-east-1",
        "visibility_timeout": VISIBILITY_SECONDS,
        "queue_name_prefix": "celery-",
    },
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
)


def note(task: str, **facts: Any) -> None:
    line = json.dumps({"task": task, "at": time.time(), "pid": os.getpid(), **facts}) + "\n"
    with Path(os.environ["CELERY_NOTES"]).open("a") as notes:
        notes.write(line)


@app.task
def add(left: int, right: int) -> None:
    note("add", sum=left + right)


@app.task(bind=True, max_retries=3)
def succeed_at_last(self: Task) -> None:
    note("succeed_at_last", attempt=self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=1)


@app.task
def tell_time(name: str) -> None:
    note("tell_time", name=name)


@app.task(acks_late=True)
def kill_the_first_worker(name: str) -> None:
    """A worker that dies has not acknowledged: another one gets the message."""
    is_first = not any(known["name"] == name for known in read_notes("kill_the_first_worker"))
    note("kill_the_first_worker", name=name)
    if is_first:
        os.kill(os.getpid(), signal.SIGKILL)


def read_notes(task: str) -> list[dict[str, Any]]:
    path = Path(os.environ["CELERY_NOTES"])
    lines = path.read_text().splitlines() if path.exists() else []
    return [known for line in lines if (known := json.loads(line))["task"] == task]
