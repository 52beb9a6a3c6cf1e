"""Long polls whose client, or whose queue, goes away."""

import socket
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.process import resident_bytes
from tests.harness.sqs import Queue, client, eventually
from tests.harness.sqs_wire import SqsWire, http_request, json_request, query_request

pytestmark = pytest.mark.usefixtures("queues_stay_well")

MIB = 1 << 20
WAITING_RECEIVES = "duolog_queue_waiting_receives"
AT_ONCE_SECONDS_MAX = 10
"""Less than a long poll takes, and less than a message is hidden from others."""
STOP_SECONDS_MAX = 15.0


def poll(queue: Queue, seconds: int = 20, **more: Any) -> bytes:
    asked = {"QueueUrl": queue.url, "WaitTimeSeconds": seconds, **more}
    return json_request("ReceiveMessage", asked)


def until_waiting(node: Node, count: int) -> None:
    """Until so many receives are parked: those of clients that have gone are not."""
    eventually(lambda: node.metric(WAITING_RECEIVES) == count)


def test_a_queue_deleted_under_a_long_poll_is_told_of_at_once(node: Node, queue: Queue) -> None:
    with SqsWire(node.sqs) as modern, SqsWire(node.sqs) as older:
        modern.socket.sendall(poll(queue))
        older.socket.sendall(
            query_request("ReceiveMessage", {"QueueUrl": queue.url, "WaitTimeSeconds": 20})
        )
        until_waiting(node, 2)
        started = time.monotonic()
        queue.sqs.delete_queue(QueueUrl=queue.url)
        answers = [modern.read(), older.read()]
        assert time.monotonic() - started < AT_ONCE_SECONDS_MAX
        assert [answer and (answer.status, answer.code) for answer in answers] == [
            (400, "QueueDoesNotExist"),
            (400, "AWS.SimpleQueueService.NonExistentQueue"),
        ]


@pytest.mark.parametrize("farewell", ["close", "half close", "reset"])
def test_the_message_of_a_client_that_has_gone_is_the_next_one_s(
    node: Node, queue: Queue, farewell: str
) -> None:
    with ExitStack() as kept:
        for _ in range(20):
            wire = kept.enter_context(SqsWire(node.sqs))
            wire.socket.sendall(poll(queue))
            time.sleep(0.01)
            if farewell == "half close":
                wire.socket.shutdown(socket.SHUT_WR)
            elif farewell == "reset":
                linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
                wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                wire.close()
            else:
                wire.close()
        until_waiting(node, 0)
        queue.send("x")
        assert queue.counts() == (1, 0, 0)
        started = time.monotonic()
        message = queue.receive_one()
        assert time.monotonic() - started < AT_ONCE_SECONDS_MAX
        assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_a_client_that_goes_with_requests_behind_its_poll_takes_nothing(
    node: Node, queue: Queue
) -> None:
    with SqsWire(node.sqs) as wire:
        wire.socket.sendall(poll(queue) * 30)
        until_waiting(node, 1)
    until_waiting(node, 0)
    queue.send("x")
    assert queue.bodies(WaitTimeSeconds=AT_ONCE_SECONDS_MAX) == ["x"]


def test_nothing_is_lost_while_clients_come_and_go(node: Node, queue: Queue) -> None:
    """At any moment of the way: waiting, being served, or served and not reading."""
    count = 200
    queue.set(VisibilityTimeout=1)
    stopped = threading.Event()

    def come_and_go() -> None:
        while not stopped.is_set():
            with SqsWire(node.sqs) as wire:
                wire.socket.sendall(poll(queue, MaxNumberOfMessages=10))
                time.sleep(0.002)

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for first in range(0, count, 10):
            queue.send_all([str(each) for each in range(first, first + 10)])
            time.sleep(0.01)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert sum(queue.counts()) == count
    # Whoever deletes what it has received is to be in time.
    drained = queue.drain(count, VisibilityTimeout=600)
    assert sorted(drained, key=int) == [str(each) for each in range(count)]


def test_polls_of_gone_clients_are_forgotten(node: Node, queue: Queue) -> None:
    before = resident_bytes(node.pid)
    for _ in range(1_000):
        with SqsWire(node.sqs) as wire:
            wire.socket.sendall(poll(queue))
    until_waiting(node, 0)
    assert resident_bytes(node.pid) - before < 20 * MIB
    queue.send("x")
    assert queue.receive_one()["Body"] == "x"


def test_a_poll_that_never_reads_its_answer_hides_no_more_than_it_asked_for(
    node: Node, queue: Queue
) -> None:
    queue.send_all(["x" * 100_000] * 30)
    with SqsWire(node.sqs) as deaf:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.socket.sendall(poll(queue, 0, MaxNumberOfMessages=1) * 3)
        eventually(lambda: queue.counts() == (27, 3, 0))
        assert len(queue.receive(5)) == 5


def test_a_queue_purged_under_a_long_poll_goes_on(node: Node, queue: Queue) -> None:
    with SqsWire(node.sqs) as wire:
        wire.socket.sendall(poll(queue))
        until_waiting(node, 1)
        queue.sqs.purge_queue(QueueUrl=queue.url)
        queue.send("after")
        answer = wire.read()
        assert answer is not None
        assert answer.fields["Messages"][0]["Body"] == "after"


def test_a_node_that_stops_lets_its_long_polls_go(tmp_path: Any) -> None:
    with Node(tmp_path) as node:
        queue = Queue.create(client(node.sqs))
        with SqsWire(node.sqs) as wire:
            wire.socket.sendall(poll(queue))
            until_waiting(node, 1)
            started = time.monotonic()
            node.stop()
            assert time.monotonic() - started < STOP_SECONDS_MAX
            answer = wire.read()
            assert answer is None or answer.status in (200, 503)


def test_a_request_that_ends_with_its_connection_is_answered_first(
    node: Node, queue: Queue
) -> None:
    with SqsWire(node.sqs) as wire:
        body = b'{"QueueUrl": "%b", "MessageBody": "x"}' % queue.url.encode()
        answer = wire.ask(
            http_request(body, X_Amz_Target="AmazonSQS.SendMessage", Connection="close")
        )
        assert answer.status == 200
        assert wire.read() is None
    assert queue.counts() == (1, 0, 0)
