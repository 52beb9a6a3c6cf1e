"""A web service that enqueues jobs and streams their progress, with FastAPI.

Shows both doors in one program: `POST /jobs` sends to the queue `renderings`, a worker receives
from it and produces each step to the topic `progress`, keyed by the job, and
`GET /jobs/{id}/progress` streams that topic as server-sent events, from the beginning: whoever
asks late still sees every step.

    make run                                       # in another terminal
    .venv/bin/python examples/fastapi_progress.py 127.0.0.1:8000
"""

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import boto3
import uvicorn
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

SQS = os.environ.get("DUOLOG_SQS_LISTEN", "127.0.0.1:9324")
KAFKA = os.environ.get("DUOLOG_KAFKA_LISTEN", "127.0.0.1:9092")
TOPIC = "progress"
STEPS = 4
STEP_SECONDS = 0.2
"""What a step of real work takes."""
STREAM_SECONDS_MAX = 60.0

stopping = threading.Event()


def queue() -> tuple[Any, str]:
    """A client of its own for each thread, and the queue's address."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=f"http://{SQS}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    return sqs, sqs.create_queue(QueueName="renderings")["QueueUrl"]


def work() -> None:
    """Each job once it is received, until the service stops."""
    sqs, url = queue()
    producer = Producer({"bootstrap.servers": KAFKA, "enable.idempotence": True})
    while not stopping.is_set():
        for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []):
            job = json.loads(message["Body"])["id"]
            for step in range(1, STEPS + 1):
                time.sleep(STEP_SECONDS)
                producer.produce(TOPIC, key=job, value=json.dumps({"step": step, "of": STEPS}))
                producer.flush()
            # Before this the job is not done: a worker that dies leaves it to another one.
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def create_topic() -> None:
    """Before anybody reads it: it could be asked for before the first step is produced."""
    admin = AdminClient({"bootstrap.servers": KAFKA})
    try:
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    create_topic()
    worker = threading.Thread(target=work)
    worker.start()
    yield
    stopping.set()
    worker.join()


app = FastAPI(lifespan=lifespan)


@app.post("/jobs", status_code=202)
def enqueue(picture: str) -> dict[str, str]:
    sqs, url = queue()
    job = uuid.uuid4().hex
    sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"id": job, "picture": picture}))
    return {"id": job}


@app.get("/jobs/{job}/progress")
def stream(job: str) -> StreamingResponse:
    return StreamingResponse(steps_of(job), media_type="text/event-stream")


def steps_of(job: str) -> Iterator[str]:
    """All steps of a job, also those that were made before anybody asked."""
    # It joins no group, so that every request reads the topic for itself.
    consumer = Consumer({"bootstrap.servers": KAFKA, "group.id": f"stream-{uuid.uuid4().hex}"})
    deadline = time.monotonic() + STREAM_SECONDS_MAX
    try:
        partitions = consumer.list_topics(TOPIC).topics[TOPIC].partitions
        consumer.assign([TopicPartition(TOPIC, each, OFFSET_BEGINNING) for each in partitions])
        while time.monotonic() < deadline and not stopping.is_set():
            record = consumer.poll(0.5)
            if record is None or record.error() or record.key() != job.encode():
                continue
            value = (record.value() or b"").decode()
            yield f"data: {value}\n\n"
            if json.loads(value)["step"] == STEPS:
                return
    finally:
        consumer.close()


def main() -> None:
    host, _, port = (sys.argv[1:] or ["127.0.0.1:8000"])[0].rpartition(":")
    uvicorn.run(app, host=host, port=int(port))


if __name__ == "__main__":
    main()
