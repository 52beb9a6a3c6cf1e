"""A bill from usage: what was sent and received, priced by a list.

Shows: usage that nodes write to the topic `__usage`, the pipeline `billing` on an embedded Spark,
and the draft of this month's invoice. It needs Java 17 and the extra `spark`.

    make run                                       # in another terminal
    .venv/bin/pip install -e '.[spark]' -c constraints.txt
    .venv/bin/python examples/bill/bill.py
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import boto3

SQS = os.environ.get("DUOLOG_SQS_LISTEN", "127.0.0.1:9324")
ADMIN = os.environ.get("DUOLOG_ADMIN_LISTEN", "127.0.0.1:9325")
PRICES = Path(__file__).parent / "prices.toml"
QUEUE = "billed"
MESSAGES = 1_000
BATCH = 10
SECONDS_MAX = 60.0


def send_and_receive() -> None:
    sqs = boto3.client(
        "sqs",
        endpoint_url=f"http://{SQS}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    entries = [{"Id": str(number), "MessageBody": "something"} for number in range(BATCH)]
    for _ in range(MESSAGES // BATCH):
        sqs.send_message_batch(QueueUrl=url, Entries=entries)
    received = 0
    while received < MESSAGES:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=BATCH, WaitTimeSeconds=5)
        received += len(answer["Messages"])


def until_written(sent: int, received: int) -> None:
    """Until the node says that all of it is in `__usage`: it writes every few seconds."""
    deadline = time.monotonic() + SECONDS_MAX
    while counted("send") < sent or counted("receive") < received:
        assert time.monotonic() < deadline, "the node has not written what was used"
        time.sleep(0.5)


def counted(operation: str) -> int:
    with urllib.request.urlopen(f"http://{ADMIN}/usage", timeout=SECONDS_MAX) as answer:
        totals: list[dict[str, Any]] = json.loads(answer.read())["totals"]
    return sum(
        each["messages"]
        for each in totals
        if (each["resource"], each["operation"]) == (QUEUE, operation)
    )


def run_billing(data: str) -> None:
    """As `duolog pipeline run billing --once -O prices=prices.toml` on a command line."""
    command = [sys.executable, "-m", "duolog", "pipeline", "run", "billing", "--once"]
    subprocess.run(
        [*command, "-O", f"prices={PRICES}", "--data", data, "-o", "json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def show(draft: Path) -> None:
    """The charges, with what is free and what is rounded, and what is owed by each tenant."""
    with (draft / "charges.csv").open() as charges:
        for charge in csv.DictReader(charges):
            print(f"{float(charge['BilledCost']):9.4f}  {charge['ChargeDescription']}")
    for tenant, owed in json.loads((draft / "invoices.json").read_text())["owed"].items():
        print(f"{owed:>7} EUR is owed by {tenant}")


def main() -> None:
    sent, received = counted("send"), counted("receive")
    send_and_receive()
    until_written(sent + MESSAGES, received + MESSAGES)
    with tempfile.TemporaryDirectory() as data:
        run_billing(data)
        (draft,) = Path(data).glob("pipelines/exports/billing/draft-*")
        show(draft)


if __name__ == "__main__":
    main()
