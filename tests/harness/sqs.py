"""SQS clients of a node: boto3 as it is, and as it was when it still spoke the Query protocol."""

import atexit
import functools
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from tests.unit.wire.sqs.public_model import QUERY_DESCRIPTION

REGION = "us-east-1"
ACCOUNT = "000000000000"
PROTOCOLS = ("json", "query")
PATIENCE_SECONDS = 30.0
WAIT_SECONDS_MAX = 20
"""The longest that a receive can wait."""

_numbers = itertools.count(1)


def session(protocol: str = "json") -> boto3.Session:
    """botocore takes the protocol from the model that it finds: before 2023 that was Query's."""
    core = botocore.session.Session()
    core.set_credentials("key", "secret")
    if protocol == "query":
        core.get_component("data_loader").search_paths.insert(0, _query_models())
    return boto3.Session(botocore_session=core, region_name=REGION)


@functools.cache
def _query_models() -> str:
    folder = tempfile.mkdtemp(prefix="query-model-")
    atexit.register(shutil.rmtree, folder)
    model = Path(folder, "sqs", "2012-11-05", "service-2.json")
    model.parent.mkdir(parents=True)
    model.write_text(json.dumps(QUERY_DESCRIPTION))
    return folder


def client(address: str, protocol: str = "json", **options: Any) -> Any:
    """A client that does not try again: a test is to see the first answer."""
    config = Config(retries={"total_max_attempts": 1}, **options)
    return session(protocol).client("sqs", endpoint_url=f"http://{address}", config=config)


def new_name(kind: str = "queue") -> str:
    return f"{kind}-{next(_numbers)}"


class Queue:
    """A queue through one client, in the few words that tests need."""

    def __init__(self, sqs: Any, url: str) -> None:
        self.sqs = sqs
        self.url = url

    @classmethod
    def create(cls, sqs: Any, name: str | None = None, **attributes: object) -> "Queue":
        """`FifoQueue=True` gives a name that ends accordingly."""
        if name is None:
            name = new_name() + (".fifo" if attributes.get("FifoQueue") else "")
        texts = {
            name.replace("duolog_", "duolog:"): _text(each) for name, each in attributes.items()
        }
        return cls(sqs, sqs.create_queue(QueueName=name, Attributes=texts)["QueueUrl"])

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]

    @property
    def arn(self) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{self.name}"

    def send(self, body: str, **more: Any) -> dict[str, Any]:
        return self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **more)

    def send_all(self, bodies: list[str], **more: Any) -> None:
        for first in range(0, len(bodies), 10):
            entries = [
                {"Id": str(index), "MessageBody": body, **more}
                for index, body in enumerate(bodies[first : first + 10])
            ]
            answer = self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries)
            assert "Failed" not in answer, answer

    def receive(self, count: int = 10, **more: Any) -> list[dict[str, Any]]:
        """With all attributes, and at once unless told to wait."""
        asked = {
            "MaxNumberOfMessages": count,
            "MessageSystemAttributeNames": ["All"],
            "MessageAttributeNames": ["All"],
            **more,
        }
        return self.sqs.receive_message(QueueUrl=self.url, **asked).get("Messages", [])

    def receive_one(self, **more: Any) -> dict[str, Any]:
        """It must come by itself."""
        (message,) = self.receive(1, **{"WaitTimeSeconds": WAIT_SECONDS_MAX, **more})
        return message

    def bodies(self, **more: Any) -> list[str]:
        return [message["Body"] for message in self.receive(**more)]

    def drain(self, count: int, **more: Any) -> list[str]:
        """The bodies of so many messages, which are deleted."""
        bodies: list[str] = []
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(bodies) < count:
            assert time.monotonic() < deadline, f"only {len(bodies)} of {count} messages came"
            for message in self.receive(**{"WaitTimeSeconds": 1, **more}):
                bodies.append(message["Body"])
                self.delete(message)
        return bodies

    def delete(self, message: dict[str, Any]) -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def hide(self, message: dict[str, Any], seconds: int) -> None:
        self.sqs.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    def attributes(self) -> dict[str, str]:
        asked = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])
        return asked["Attributes"]

    def set(self, **attributes: object) -> None:
        texts = {name: _text(value) for name, value in attributes.items()}
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=texts)

    def counts(self) -> tuple[int, int, int]:
        """Ready, in flight and delayed."""
        known = self.attributes()
        return tuple(  # type: ignore[return-value]
            int(known[f"ApproximateNumberOfMessages{suffix}"])
            for suffix in ("", "NotVisible", "Delayed")
        )


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return json.dumps(value)
        case _:
            return str(value)


def eventually(is_true: Callable[[], object], seconds_max: float = PATIENCE_SECONDS) -> None:
    """Wait for what happens by itself."""
    deadline = time.monotonic() + seconds_max
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def error_code(failure: Any) -> str:
    """Of a ClientError; in the Query protocol's words, which JSON carries along."""
    return str(failure.response["Error"]["Code"])
