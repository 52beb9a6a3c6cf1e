"""The aws command, as people use it from a shell."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.sqs import ACCOUNT, REGION, new_name

SECONDS_MAX = 30
AWS = Path(sys.executable).with_name("aws")

pytestmark = pytest.mark.skipif(not AWS.exists(), reason="the aws command is not installed")


class Shell:
    def __init__(self, address: str, home: Path) -> None:
        self._address = address
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_MAX_ATTEMPTS": "1",
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(AWS), "--endpoint-url", f"http://{self._address}", "sqs", *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
            env=self._environ,
        )

    def aws(self, *arguments: str) -> Any:
        """What it writes to stdout, as JSON; None when that is nothing."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None


@pytest.fixture
def shell(node: Node, tmp_path: Path) -> Shell:
    return Shell(node.sqs, tmp_path)


def test_a_message_goes_through_a_queue(shell: Shell, node: Node) -> None:
    name = new_name()
    url = shell.aws("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=60")[
        "QueueUrl"
    ]
    assert url == f"http://{node.sqs}/{ACCOUNT}/{name}"
    attributes = '{"n": {"DataType": "Number", "StringValue": "7"}}'
    sent = shell.aws(
        "send-message", "--queue-url", url, "--message-body", "hello <shell>",
        "--message-attributes", attributes,
    )  # fmt: skip
    (message,) = shell.aws(
        "receive-message", "--queue-url", url, "--wait-time-seconds", "2",
        "--message-attribute-names", "All", "--attribute-names", "All",
    )["Messages"]  # fmt: skip
    assert message["Body"] == "hello <shell>"
    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"] == json.loads(attributes)
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    receipt = message["ReceiptHandle"]
    assert shell.aws("delete-message", "--queue-url", url, "--receipt-handle", receipt) is None
    known = shell.aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")
    assert known["Attributes"]["ApproximateNumberOfMessages"] == "0"
    assert known["Attributes"]["VisibilityTimeout"] == "60"
    shell.aws("delete-queue", "--queue-url", url)


def test_an_error_says_what_is_wrong(shell: Shell) -> None:
    failed = shell.run("get-queue-url", "--queue-name", new_name("missing"))
    assert failed.returncode != 0
    assert "AWS.SimpleQueueService.NonExistentQueue" in failed.stderr
    assert "The specified queue does not exist." in failed.stderr


def test_pages_are_walked_by_itself(shell: Shell, modern_sqs: Any) -> None:
    prefix = new_name("paged")
    for each in range(3):
        modern_sqs.create_queue(QueueName=f"{prefix}-{each}")
    listed = shell.aws("list-queues", "--queue-name-prefix", prefix, "--page-size", "1")
    assert [url.rsplit("/", 1)[1] for url in listed["QueueUrls"]] == [
        f"{prefix}-{each}" for each in range(3)
    ]
