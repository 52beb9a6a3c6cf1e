"""Time as consumers notice it: long polls, visibility, delays and retention."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.sqs import Queue, client, error_code, eventually

WAITING_RECEIVES = "duolog_queue_waiting_receives"

POLL_SECONDS = 20
WAKE_SECONDS_MAX = 10.0
"""A parked client has its message in a millisecond or two, and the machine may be busy. It is far
less than a long poll takes by itself."""
HIDDEN_SECONDS = 5
"""Long enough to be looked at meanwhile."""


@pytest.fixture
def queue(modern_sqs: Any) -> Queue:
    return Queue.create(modern_sqs)


def test_a_long_poll_wakes_as_soon_as_a_message_is_there(queue: Queue) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive, WaitTimeSeconds=POLL_SECONDS)
        time.sleep(0.3)
        assert not waiting.done()
        started = time.monotonic()
        queue.send("x")
        assert [message["Body"] for message in waiting.result()] == ["x"]
        assert time.monotonic() - started < WAKE_SECONDS_MAX


def test_a_long_poll_ends_empty_when_its_time_is_over(queue: Queue) -> None:
    started = time.monotonic()
    assert queue.receive(WaitTimeSeconds=1) == []
    assert 0.95 < time.monotonic() - started < 1.0 + WAKE_SECONDS_MAX
    started = time.monotonic()
    assert queue.receive() == []
    assert time.monotonic() - started < WAKE_SECONDS_MAX


def test_a_queue_can_make_every_receive_wait(modern_sqs: Any) -> None:
    queue = Queue.create(modern_sqs, ReceiveMessageWaitTimeSeconds=1)
    started = time.monotonic()
    assert queue.receive() == []
    assert time.monotonic() - started > 0.95
    queue.set(ReceiveMessageWaitTimeSeconds=POLL_SECONDS)
    started = time.monotonic()
    assert queue.receive(WaitTimeSeconds=0) == []
    assert time.monotonic() - started < WAKE_SECONDS_MAX


def test_long_polls_are_served_in_the_order_of_their_arrival(lone_node: Node) -> None:
    """Of those that wait on the leader's own node; from another one all of them look at once."""
    queue = Queue.create(client(lone_node.sqs))
    with ThreadPoolExecutor(3) as pool:
        waiting = []
        for number in range(3):
            waiting.append(pool.submit(queue.receive_one, WaitTimeSeconds=POLL_SECONDS))
            eventually(lambda wanted=number + 1: lone_node.metric(WAITING_RECEIVES) == wanted)
        for each in range(3):
            queue.send(str(each))
        assert [each.result()["Body"] for each in waiting] == ["0", "1", "2"]


def test_what_is_not_deleted_comes_again_when_its_time_is_over(queue: Queue) -> None:
    queue.send("x")
    started = time.monotonic()
    queue.receive_one(VisibilityTimeout=HIDDEN_SECONDS)
    assert queue.receive() == []
    again = queue.receive_one(WaitTimeSeconds=POLL_SECONDS)
    assert -0.1 < time.monotonic() - started - HIDDEN_SECONDS < WAKE_SECONDS_MAX
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"


def test_a_delayed_message_wakes_a_long_poll_when_it_is_due(queue: Queue) -> None:
    started = time.monotonic()
    queue.send("x", DelaySeconds=HIDDEN_SECONDS)
    assert queue.counts() == (0, 0, 1)
    assert queue.receive_one(WaitTimeSeconds=POLL_SECONDS)["Body"] == "x"
    assert -0.1 < time.monotonic() - started - HIDDEN_SECONDS < WAKE_SECONDS_MAX


def test_a_queue_can_delay_every_message_that_does_not_say_otherwise(modern_sqs: Any) -> None:
    queue = Queue.create(modern_sqs, DelaySeconds=900)
    queue.send("delayed")
    queue.send("now", DelaySeconds=0)
    assert queue.bodies() == ["now"]
    assert queue.counts() == (0, 1, 1)


def test_a_message_given_back_goes_to_whoever_waits(queue: Queue) -> None:
    queue.send("x")
    first = queue.receive_one()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive_one, WaitTimeSeconds=POLL_SECONDS)
        time.sleep(0.2)
        queue.hide(first, 0)
        assert waiting.result(WAKE_SECONDS_MAX)["MessageId"] == first["MessageId"]


def test_a_consumer_can_have_more_time(queue: Queue) -> None:
    queue.send("x")
    message = queue.receive_one(VisibilityTimeout=HIDDEN_SECONDS)
    queue.hide(message, 60)
    time.sleep(HIDDEN_SECONDS + 0.1)
    assert queue.receive() == []
    assert queue.counts() == (0, 1, 0)
    queue.delete(message)


def test_a_stale_receipt_settles_nothing(queue: Queue) -> None:
    queue.send("x")
    stale = queue.receive_one(VisibilityTimeout=0)
    current = queue.receive_one()
    queue.delete(stale)
    assert queue.counts() == (0, 1, 0)
    with pytest.raises(ClientError) as failure:
        queue.hide(stale, 0)
    assert error_code(failure.value) == "AWS.SimpleQueueService.MessageNotInflight"
    queue.delete(current)
    assert queue.counts() == (0, 0, 0)


def test_a_queue_s_own_time_out_can_be_changed(queue: Queue) -> None:
    queue.set(VisibilityTimeout=1)
    queue.send("x")
    queue.receive_one()
    started = time.monotonic()
    queue.receive_one(WaitTimeSeconds=POLL_SECONDS)
    assert time.monotonic() - started < 1.0 + WAKE_SECONDS_MAX
