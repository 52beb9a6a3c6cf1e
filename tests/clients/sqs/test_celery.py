"""Celery with its SQS transport: real workers that run tasks, retries and an ETA."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.clients.sqs import celery_app
from tests.clients.sqs.celery_app import read_notes
from tests.harness.node import Node
from tests.harness.sqs import Queue, client, eventually

SECONDS_MAX = 60.0
LATE_SECONDS_MAX = 15.0
"""What a busy machine may add."""
WORKERS = 2
DYING = "dying"
COUNTDOWN_SECONDS, ETA_SECONDS = 6, 7
VISIBILITY_SECONDS = 3
"""Of the queue whose messages a worker dies of."""


@pytest.fixture(scope="module")
def workers(
    node: Node, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two of them, so that one is left when the other dies."""
    folder = tmp_path_factory.mktemp("celery")
    environ = {
        "CELERY_BROKER": f"sqs://key:secret@{node.sqs}",
        "CELERY_NOTES": str(folder / "notes"),
    }
    command = [sys.executable, "-m", "celery", "-A", "tests.clients.sqs.celery_app", "worker"]
    command += ["--pool=solo", "--loglevel=INFO", "--without-gossip", "--without-mingle"]
    command += ["--queues", f"celery,{DYING}"]
    Queue.create(client(node.sqs), f"celery-{DYING}", VisibilityTimeout=VISIBILITY_SECONDS)
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("wb") as log:
        for name, value in environ.items():
            patch.setenv(name, value)
        # It looks at its environment when it is loaded, and may have been for another node.
        importlib.reload(celery_app)
        started = [
            subprocess.Popen(
                [*command, "-n", f"worker{each}@%h"], stderr=log, stdout=log, env=os.environ.copy()
            )
            for each in range(WORKERS)
        ]
        try:
            yield started
        finally:
            for worker in started:
                worker.terminate()
            for worker in started:
                worker.wait(SECONDS_MAX)
            print(Path(log.name).read_text()[-6_000:])


def wait_for(task: str, count: int, **facts: Any) -> list[dict[str, Any]]:
    def found() -> list[dict[str, Any]]:
        return [known for known in read_notes(task) if facts.items() <= known.items()]

    eventually(lambda: len(found()) >= count, SECONDS_MAX)
    return found()


def test_workers_run_every_task_once(workers: list[Any]) -> None:
    for each in range(40):
        celery_app.add.delay(each, 1_000)
    sums = [known["sum"] for known in wait_for("add", 40)]
    assert sorted(sums) == [each + 1_000 for each in range(40)]


def test_a_task_is_tried_again_until_it_succeeds(workers: list[Any]) -> None:
    celery_app.succeed_at_last.delay()
    known = wait_for("succeed_at_last", 3)
    assert [each["attempt"] for each in known] == [0, 1, 2]
    assert all(later["at"] - sooner["at"] > 0.9 for sooner, later in pairwise(known))


def test_tasks_wait_for_their_time(workers: list[Any]) -> None:
    started = time.time()
    celery_app.tell_time.apply_async(("countdown",), countdown=COUNTDOWN_SECONDS)
    due = datetime.now(UTC) + timedelta(seconds=ETA_SECONDS)
    celery_app.tell_time.apply_async(("eta",), eta=due)
    celery_app.tell_time.delay("now")
    (now,) = wait_for("tell_time", 1, name="now")
    (countdown,) = wait_for("tell_time", 1, name="countdown")
    (eta,) = wait_for("tell_time", 1, name="eta")
    assert now["at"] - started < COUNTDOWN_SECONDS
    assert -0.1 < countdown["at"] - started - COUNTDOWN_SECONDS < LATE_SECONDS_MAX
    assert -0.1 < eta["at"] - started - ETA_SECONDS < LATE_SECONDS_MAX


def test_what_a_dying_worker_held_goes_to_another_when_its_time_is_over(workers: list[Any]) -> None:
    started = time.time()
    celery_app.kill_the_first_worker.apply_async(("only",), queue=DYING)
    first, second = wait_for("kill_the_first_worker", 2)
    assert first["pid"] != second["pid"]
    assert -0.5 < second["at"] - started - VISIBILITY_SECONDS < LATE_SECONDS_MAX
    eventually(lambda: [worker.poll() is None for worker in workers].count(True) == 1)
    celery_app.add.delay(1, 1)
    wait_for("add", 1, sum=2)
