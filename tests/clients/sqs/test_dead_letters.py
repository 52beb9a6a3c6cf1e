"""Dead letters: messages that nobody could process, and their way back."""

import time
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import Queue, error_code, eventually

from .conftest import NewQueue


def redrive(dead: Queue, count: int = 1) -> dict[str, object]:
    return {"deadLetterTargetArn": dead.arn, "maxReceiveCount": count}


def fail(queue: Queue, dead: Queue, count: int) -> None:
    """Receive so many messages once and give them back, so that they go to the other queue."""
    for message in queue.receive(count):
        queue.hide(message, 0)
    eventually(lambda: dead.counts()[0] == count)


def tasks_of(dead: Queue) -> list[dict[str, Any]]:
    return list(dead.sqs.list_message_move_tasks(SourceArn=dead.arn, MaxResults=10)["Results"])


def test_a_message_received_too_often_goes_to_the_dead_letter_queue(new_queue: NewQueue) -> None:
    dead = new_queue()
    queue = new_queue(RedrivePolicy=redrive(dead, 2))
    sent = queue.send("poison", MessageAttributes={"a": {"DataType": "Number", "StringValue": "1"}})
    queue.receive_one(VisibilityTimeout=0)
    queue.receive_one(VisibilityTimeout=0)
    assert queue.receive() == []
    message = dead.receive_one()
    assert message["Body"] == "poison"
    assert message["MessageId"] == sent["MessageId"]
    assert message["MessageAttributes"]["a"]["StringValue"] == "1"
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == queue.arn
    assert queue.counts() == (0, 0, 0)


def test_the_sources_of_a_dead_letter_queue_are_listed(new_queue: NewQueue) -> None:
    dead = new_queue()
    sources = sorted(new_queue(RedrivePolicy=redrive(dead)).url for _ in range(3))
    assert dead.sqs.list_dead_letter_source_queues(QueueUrl=dead.url)["queueUrls"] == sources
    pages = dead.sqs.get_paginator("list_dead_letter_source_queues").paginate(
        QueueUrl=dead.url, PaginationConfig={"PageSize": 2}
    )
    assert [len(page["queueUrls"]) for page in pages] == [2, 1]
    assert not dead.sqs.list_dead_letter_source_queues(QueueUrl=sources[0]).get("queueUrls")


def test_a_dead_letter_queue_says_whose_letters_it_takes(new_queue: NewQueue) -> None:
    queue = new_queue()
    dead = new_queue(RedriveAllowPolicy={"redrivePermission": "denyAll"})
    with pytest.raises(ClientError):
        queue.set(RedrivePolicy=redrive(dead))
    dead.set(RedriveAllowPolicy={"redrivePermission": "byQueue", "sourceQueueArns": [queue.arn]})
    queue.set(RedrivePolicy=redrive(dead))
    with pytest.raises(ClientError):
        new_queue(RedrivePolicy=redrive(dead))


def test_dead_letters_are_moved_back_to_where_they_came_from(new_queue: NewQueue) -> None:
    dead = new_queue()
    queues = [new_queue(RedrivePolicy=redrive(dead)) for _ in range(2)]
    for queue in queues:
        queue.send_all([f"{queue.name} {each}" for each in range(5)])
    for index, queue in enumerate(queues, 1):
        for message in queue.receive(5):
            queue.hide(message, 0)
        eventually(lambda count=5 * index: dead.counts()[0] == count)
    dead.sqs.start_message_move_task(SourceArn=dead.arn)
    for queue in queues:
        assert sorted(queue.drain(5)) == [f"{queue.name} {each}" for each in range(5)]
    # The last of them may be received before that is written down.
    eventually(lambda: tasks_of(dead)[0]["Status"] == "COMPLETED")
    (task,) = tasks_of(dead)
    assert task["SourceArn"] == dead.arn
    assert task["ApproximateNumberOfMessagesMoved"] == 10
    assert task["ApproximateNumberOfMessagesToMove"] == 10
    assert abs(task["StartedTimestamp"] / 1000 - time.time()) < 60
    assert dead.counts() == (0, 0, 0)


def test_a_move_elsewhere_keeps_its_rate_and_can_be_cancelled(new_queue: NewQueue) -> None:
    dead, target = new_queue(), new_queue()
    queue = new_queue(RedrivePolicy=redrive(dead))
    sqs = dead.sqs
    queue.send_all([str(each) for each in range(10)])
    fail(queue, dead, 10)
    # It has ten seconds to do, so that it is still under way when it is looked at.
    asked = {"SourceArn": dead.arn, "DestinationArn": target.arn, "MaxNumberOfMessagesPerSecond": 1}
    handle = sqs.start_message_move_task(**asked)["TaskHandle"]
    with pytest.raises(sqs.exceptions.UnsupportedOperation):
        sqs.start_message_move_task(SourceArn=dead.arn)
    eventually(lambda: target.counts()[0] >= 2)
    (task,) = tasks_of(dead)
    assert (task["Status"], task["TaskHandle"]) == ("RUNNING", handle)
    assert task["DestinationArn"] == target.arn
    assert task["MaxNumberOfMessagesPerSecond"] == 1
    moved = sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert 2 <= moved < 10
    (task,) = sqs.list_message_move_tasks(SourceArn=dead.arn)["Results"]
    assert task["Status"] == "CANCELLED"
    assert target.counts()[0] == moved
    eventually(lambda: dead.counts() == (10 - moved, 0, 0))
    with pytest.raises(sqs.exceptions.ResourceNotFoundException):
        sqs.cancel_message_move_task(TaskHandle=handle)


def test_only_a_dead_letter_queue_is_moved_from(sqs: Any, queue: Queue) -> None:
    with pytest.raises(ClientError) as failure:
        sqs.start_message_move_task(SourceArn=queue.arn)
    assert error_code(failure.value) == "InvalidParameterValue"
    with pytest.raises(sqs.exceptions.ResourceNotFoundException):
        sqs.start_message_move_task(SourceArn=f"{queue.arn}-missing")
    with pytest.raises(sqs.exceptions.ResourceNotFoundException):
        sqs.list_message_move_tasks(SourceArn=f"{queue.arn}-missing")


def test_without_its_policy_a_queue_keeps_its_messages(new_queue: NewQueue) -> None:
    dead = new_queue()
    queue = new_queue(RedrivePolicy=redrive(dead))
    queue.set(RedrivePolicy="")
    assert "RedrivePolicy" not in queue.attributes()
    queue.send("x")
    for _ in range(3):
        queue.receive_one(VisibilityTimeout=0)
    assert dead.counts() == (0, 0, 0)


def test_a_fifo_queue_s_dead_letters_stay_in_order(new_queue: NewQueue) -> None:
    dead = new_queue(FifoQueue=True)
    queue = new_queue(FifoQueue=True, ContentBasedDeduplication=True, RedrivePolicy=redrive(dead))
    for each in range(4):
        queue.send(str(each), MessageGroupId="g")
    fail(queue, dead, 4)
    assert dead.bodies() == ["0", "1", "2", "3"]
    assert queue.counts() == (0, 0, 0)
