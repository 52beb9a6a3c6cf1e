"""dramatiq with its SQS broker: a real worker that runs actors, retries and a delay."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.sqs import Queue, client, eventually

SECONDS_MAX = 60.0
DELAY_SECONDS = 2
LATE_SECONDS_MAX = 15.0
"""What a busy machine may add."""
MODULE = "tests.clients.sqs.dramatiq_app"


@pytest.fixture(scope="module")
def actors(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The application, with a worker process that serves it."""
    folder = tmp_path_factory.mktemp("dramatiq")
    command = [sys.executable, "-m", "dramatiq", MODULE, "--processes", "1", "--threads", "4"]
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("wb") as log:
        patch.setenv("DRAMATIQ_ENDPOINT", f"http://{node.sqs}")
        patch.setenv("DRAMATIQ_NOTES", str(folder / "notes"))
        worker = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ.copy())
        try:
            # It looks at its environment when it is loaded, and may have been for another node.
            yield importlib.reload(importlib.import_module(MODULE))
        finally:
            worker.terminate()
            worker.wait(SECONDS_MAX)
            print(Path(log.name).read_text()[-6_000:])


def wait_for(actors: ModuleType, actor: str, count: int) -> list[dict[str, Any]]:
    eventually(lambda: len(actors.read_notes(actor)) >= count, SECONDS_MAX)
    return list(actors.read_notes(actor))


def test_a_worker_runs_every_message_once(actors: ModuleType) -> None:
    for each in range(40):
        actors.add.send(each, 1_000)
    known = wait_for(actors, "add", 40)
    assert sorted(each["sum"] for each in known) == [each + 1_000 for each in range(40)]
    actors.broker.join("default", timeout=int(SECONDS_MAX))


def test_an_actor_is_tried_again_until_it_succeeds(actors: ModuleType) -> None:
    actors.succeed_at_last.send()
    known = wait_for(actors, "succeed_at_last", 3)
    assert [each["attempt"] for each in known] == [0, 1, 2]


def test_a_delayed_message_waits_for_its_time(actors: ModuleType) -> None:
    before = len(actors.read_notes("add"))
    started = time.time()
    actors.add.send_with_options(args=(1, 1), delay=1_000 * DELAY_SECONDS)
    known = wait_for(actors, "add", before + 1)[-1]
    assert known["sum"] == 2
    assert -0.1 < known["at"] - started - DELAY_SECONDS < LATE_SECONDS_MAX


def test_a_message_that_always_fails_ends_in_the_dead_letter_queue(
    actors: ModuleType, node: Node
) -> None:
    actors.fail.send()
    sqs = client(node.sqs)
    dead = Queue(sqs, sqs.get_queue_url(QueueName="dramatiq_hopeless_dlq")["QueueUrl"])
    eventually(lambda: dead.counts()[0] == 1, SECONDS_MAX)
    assert sqs.list_queue_tags(QueueUrl=dead.url)["Tags"] == {"made-by": "dramatiq"}
