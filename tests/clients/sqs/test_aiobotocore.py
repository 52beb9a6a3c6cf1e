"""aiobotocore: the same client on an event loop."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiobotocore.session import get_session
from tests.harness.node import Node
from tests.harness.sqs import REGION, new_name

POLL_SECONDS = 20
WAKE_SECONDS_MAX = 10.0
NOTICE_SECONDS = 1.0
"""Within which a node sees that a client has gone."""


@pytest.fixture
async def sqs(node: Node) -> AsyncIterator[Any]:
    session = get_session()
    async with session.create_client(
        "sqs",
        region_name=REGION,
        endpoint_url=f"http://{node.sqs}",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    ) as client:
        yield client


async def test_messages_are_sent_received_and_deleted(sqs: Any) -> None:
    url = (await sqs.create_queue(QueueName=new_name()))["QueueUrl"]
    sent = await asyncio.gather(
        *(sqs.send_message(QueueUrl=url, MessageBody=str(each)) for each in range(30))
    )
    received: dict[str, str] = {}
    while len(received) < 30:
        answer = await sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        messages = answer["Messages"]
        received |= {message["MessageId"]: message["Body"] for message in messages}
        receipts = [
            {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
            for index, message in enumerate(messages)
        ]
        deleted = await sqs.delete_message_batch(QueueUrl=url, Entries=receipts)
        assert len(deleted["Successful"]) == len(messages)
    assert received == {each["MessageId"]: str(index) for index, each in enumerate(sent)}
    assert "Messages" not in await sqs.receive_message(QueueUrl=url)


async def test_long_polls_wait_beside_other_calls(sqs: Any) -> None:
    url = (await sqs.create_queue(QueueName=new_name()))["QueueUrl"]
    waiting = [
        asyncio.create_task(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=POLL_SECONDS))
        for _ in range(5)
    ]
    await asyncio.sleep(0.3)
    assert not any(task.done() for task in waiting)
    started = time.monotonic()
    for each in range(5):
        await sqs.send_message(QueueUrl=url, MessageBody=str(each))
    answers = await asyncio.gather(*waiting)
    assert time.monotonic() - started < WAKE_SECONDS_MAX
    assert {answer["Messages"][0]["Body"] for answer in answers} == set("01234")


async def test_a_long_poll_that_is_cancelled_takes_no_message_with_it(sqs: Any) -> None:
    url = (await sqs.create_queue(QueueName=new_name()))["QueueUrl"]
    waiting = asyncio.create_task(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=POLL_SECONDS))
    await asyncio.sleep(0.2)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.sleep(NOTICE_SECONDS)
    await sqs.send_message(QueueUrl=url, MessageBody="x")
    answer = await sqs.receive_message(QueueUrl=url, WaitTimeSeconds=POLL_SECONDS)
    assert [message["Body"] for message in answer["Messages"]] == ["x"]


async def test_errors_are_the_client_s_own(sqs: Any) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        await sqs.get_queue_url(QueueName=new_name("missing"))


async def test_pages_are_walked(sqs: Any) -> None:
    prefix = new_name("paged")
    for each in range(5):
        await sqs.create_queue(QueueName=f"{prefix}-{each}")
    pages = sqs.get_paginator("list_queues").paginate(
        QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}
    )
    assert [len(page["QueueUrls"]) async for page in pages] == [2, 2, 1]
