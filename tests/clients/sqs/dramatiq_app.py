"""A dramatiq application as its users write one. Its actors note what they do in a file."""

import json
import os
import time
from pathlib import Path
from typing import Any

import dramatiq
from dramatiq.middleware import CurrentMessage
from dramatiq_sqs import SQSBroker

broker = SQSBroker(
    namespace="dramatiq",
    dead_letter=True,
    tags={"made-by": "dramatiq"},
    endpoint_url=os.environ.get("DRAMATIQ_ENDPOINT", "http://127.0.0.1:9324"),
    region_name="us-east-1",
    aws_access_key_id="key",
    aws_secret_access_key="secret",
)
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)


def note(actor: str, **facts: Any) -> None:
    line = json.dumps({"actor": actor, "at": time.time(), **facts}) + "\n"
    with Path(os.environ["DRAMATIQ_NOTES"]).open("a") as notes:
        notes.write(line)


def read_notes(actor: str) -> list[dict[str, Any]]:
    path = Path(os.environ["DRAMATIQ_NOTES"])
    lines = path.read_text().splitlines() if path.exists() else []
    return [known for line in lines if (known := json.loads(line))["actor"] == actor]


@dramatiq.actor
def add(left: int, right: int) -> None:
    note("add", sum=left + right)


@dramatiq.actor(max_retries=3, min_backoff=1_000, max_backoff=1_000)
def succeed_at_last() -> None:
    message = CurrentMessage.get_current_message()
    assert message is not None
    attempt = message.options.get("retries", 0)
    note("succeed_at_last", attempt=attempt)
    if attempt < 2:
        raise RuntimeError("not yet")


@dramatiq.actor(max_retries=0, queue_name="hopeless")
def fail() -> None:
    raise RuntimeError("never")
