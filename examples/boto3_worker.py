"""A worker on boto3 that retries what fails, and a queue for what fails too often.

Shows: a redrive policy, long polling, a retry by visibility timeout, and that a message is deleted
only after its work is done. A job that fails twice ends in `jobs-dead`, with its receive count.

    make run                                       # in another terminal
    .venv/bin/python examples/boto3_worker.py
"""

import json
import os
from typing import Any

import boto3

SQS = os.environ.get("DUOLOG_SQS_LISTEN", "127.0.0.1:9324")
ATTEMPTS_MAX = 2
IDLE_SECONDS = 2

sqs = boto3.client(
    "sqs",
    endpoint_url=f"http://{SQS}",
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
)


def create_queues() -> tuple[str, str]:
    dead = sqs.create_queue(QueueName="jobs-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]
    policy = {"deadLetterTargetArn": arn["QueueArn"], "maxReceiveCount": ATTEMPTS_MAX}
    jobs = sqs.create_queue(QueueName="jobs", Attributes={"RedrivePolicy": json.dumps(policy)})
    return jobs["QueueUrl"], dead


def divide(job: dict[str, int]) -> float:
    return job["dividend"] / job["divisor"]


def work_until_idle(url: str) -> None:
    while messages := receive(url):
        for message in messages:
            try:
                print("worked:", divide(json.loads(message["Body"])))
            except ZeroDivisionError as error:
                attempt = message["Attributes"]["ApproximateReceiveCount"]
                print(f"failed: {error}, attempt {attempt}")
                retry_now(url, message)
            else:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def receive(url: str) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        WaitTimeSeconds=IDLE_SECONDS,
        MessageSystemAttributeNames=["ApproximateReceiveCount"],
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def retry_now(url: str, message: dict[str, Any]) -> None:
    """Without this the message comes back when its visibility timeout is over."""
    sqs.change_message_visibility(
        QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
    )


def main() -> None:
    jobs, dead = create_queues()
    for divisor in (4, 0):
        sqs.send_message(
            QueueUrl=jobs, MessageBody=json.dumps({"dividend": 10, "divisor": divisor})
        )
    work_until_idle(jobs)
    for message in receive(dead):
        print("dead:", message["Body"])
        sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    main()
