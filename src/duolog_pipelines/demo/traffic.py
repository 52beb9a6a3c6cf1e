"""The demo's clients: carry out a plan through the doors of a node."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from typing import TypeVar

from duolog.client.cluster import Cluster
from duolog.client.producer import Producer
from duolog.client.queues import QueueClient
from duolog.client.topics import create_topic
from duolog.config.address import parse_address
from duolog.records.record import Record
from duolog.wire.sqs.messages import (
    ChangeMessageVisibilityRequest,
    CreateQueueRequest,
    DeleteMessageBatchRequest,
    DeleteMessageBatchRequestEntry,
    Message,
    MessageAttributeValue,
    ReceiveMessageRequest,
    SendMessageBatchRequest,
    SendMessageBatchRequestEntry,
)
from duolog_pipelines.audit.numbering import PRODUCER, SEQUENCE
from duolog_pipelines.demo.node import Addresses
from duolog_pipelines.demo.plan import Plan, Sending
from duolog_pipelines.errors import PipelineError

TOPIC = "demo-measurements"
QUEUE = "demo-orders"
DEAD_QUEUE = "demo-orders-dead"
RECEIVES_MAX = 2
"""Receives after which a message becomes a dead letter."""

T = TypeVar("T")

_PARTITIONS = 3
_BATCH = 200
_TENS = 10
_RETAIN_SECONDS = 3_600
_CONSUME_SECONDS_MAX = 60.0
_POISON = "poison"


async def make_traffic(addresses: Addresses, plan: Plan) -> None:
    """Carry out the whole plan. ClientError."""
    async with Cluster(parse_address(addresses.kafka)) as cluster:
        await create_topic(cluster, TOPIC, _PARTITIONS)
        for place, sending in enumerate(plan.to_topic):
            await _measure(cluster, place % _PARTITIONS, sending)
    async with AsyncExitStack() as clients:
        queues, *others = [
            await clients.enter_async_context(_client(addresses)) for _ in plan.to_queue
        ]
        url = await _create_queues(queues)
        await asyncio.gather(
            *(
                _order(client, url, _orders(sending))
                for client, sending in zip((queues, *others), plan.to_queue, strict=True)
            )
        )
        await _order(queues, url, [(_POISON, {}) for _ in range(plan.poisoned)])
        await _consume(queues, url, plan.sent_to_queue - plan.left)
        await _order(queues, url, [("too late", {}) for _ in range(plan.left)])


def _client(addresses: Addresses) -> QueueClient:
    return QueueClient(parse_address(addresses.sqs), None, lambda: int(time.time() * 1000))


async def _measure(cluster: Cluster, partition: int, sending: Sending) -> None:
    producer = Producer(cluster)
    for numbers in _pieces(sending.numbers, _BATCH):
        now_ms = int(time.time() * 1000)
        records = [
            Record(
                value=json.dumps({"celsius": 20 + number % 7}).encode(),
                headers=(
                    (PRODUCER, sending.producer.encode()),
                    (SEQUENCE, str(number).encode()),
                ),
                timestamp=now_ms,
            )
            for number in numbers
        ]
        await producer.send(TOPIC, partition, records)


async def _create_queues(queues: QueueClient) -> str:
    await queues.call(CreateQueueRequest(DEAD_QUEUE), DEAD_QUEUE)
    policy = {
        "deadLetterTargetArn": await queues.arn_of(DEAD_QUEUE),
        "maxReceiveCount": RECEIVES_MAX,
    }
    attributes = {
        "RedrivePolicy": json.dumps(policy),
        # Deleted messages stay in the log long enough to be archived.
        "duolog:RetainDeleted": str(_RETAIN_SECONDS),
    }
    request = CreateQueueRequest(QUEUE, attributes)
    result = await queues.call(request, QUEUE)
    return str(result.queue_url)


def _orders(sending: Sending) -> Iterator[tuple[str, dict[str, MessageAttributeValue]]]:
    for number in sending.numbers:
        yield (
            json.dumps({"order": number, "amount": number % 97}),
            {
                PRODUCER: MessageAttributeValue("String", sending.producer),
                SEQUENCE: MessageAttributeValue("Number", str(number)),
            },
        )


async def _order(
    queues: QueueClient,
    url: str,
    orders: Iterable[tuple[str, dict[str, MessageAttributeValue]]],
) -> None:
    for piece in _pieces(orders, _TENS):
        entries = [
            SendMessageBatchRequestEntry(str(place), body, message_attributes=attributes or None)
            for place, (body, attributes) in enumerate(piece)
        ]
        result = await queues.call(SendMessageBatchRequest(url, entries), QUEUE)
        if result.failed:
            raise PipelineError(f"{QUEUE} did not take an order: {result.failed[0]}")


async def _consume(queues: QueueClient, url: str, awaited: int) -> None:
    """Receive until this many messages are deleted, or failed often enough to become dead
    letters."""
    tried: dict[str, int] = {}
    done = 0
    async with asyncio.timeout(_CONSUME_SECONDS_MAX):
        while done < awaited:
            request = ReceiveMessageRequest(
                url, max_number_of_messages=_TENS, visibility_timeout=60, wait_time_seconds=1
            )
            messages: list[Message] = (await queues.call(request, QUEUE)).messages or []
            handled: list[str] = []
            for message in messages:
                assert message.receipt_handle is not None
                assert message.message_id is not None
                if message.body != _POISON:
                    handled.append(message.receipt_handle)
                    continue
                tries = tried[message.message_id] = tried.get(message.message_id, 0) + 1
                done += tries == RECEIVES_MAX
                again = ChangeMessageVisibilityRequest(url, message.receipt_handle, 0)
                await queues.call(again, QUEUE)
            if handled:
                entries = [
                    DeleteMessageBatchRequestEntry(str(place), receipt)
                    for place, receipt in enumerate(handled)
                ]
                await queues.call(DeleteMessageBatchRequest(url, entries), QUEUE)
                done += len(handled)


def _pieces(items: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(items)
    while piece := list(itertools.islice(left, size)):
        yield piece
