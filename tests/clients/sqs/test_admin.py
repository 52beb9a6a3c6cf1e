"""What operators do beside the API: peek at messages, and replay deleted ones."""

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest
from tests.harness.node import Node
from tests.harness.sqs import Queue

ASK_SECONDS_MAX = 15.0
WAKE_SECONDS_MAX = 10.0
"""Less than a long poll takes by itself."""


class Admin:
    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str, **query: object) -> Any:
        return self._open(f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: object) -> Any:
        return self._open(path, json.dumps(body).encode())

    def _open(self, path: str, body: bytes | None = None) -> Any:
        url = f"http://{self._address}{path}"
        with urllib.request.urlopen(url, body, timeout=ASK_SECONDS_MAX) as answer:
            return json.load(answer)

    def peek(self, queue: Queue, **query: object) -> list[dict[str, Any]]:
        return list(self.get(f"/queues/{queue.name}/messages", **query)["messages"])

    def refusal_of(self, path: str, body: object = None) -> int:
        """The status of an answer that says what is wrong."""
        with pytest.raises(HTTPError) as refused:
            self._open(path, None if body is None else json.dumps(body).encode())
        with refused.value as answer:
            assert json.load(answer)["error"]
            return answer.code


@pytest.fixture
def operator(node: Node) -> Admin:
    return Admin(node.admin)


@pytest.fixture
def queue(modern_sqs: Any) -> Queue:
    return Queue.create(modern_sqs)


def test_messages_are_seen_without_being_received(queue: Queue, operator: Admin) -> None:
    attributes = {"n": {"DataType": "Number", "StringValue": "1"}}
    sent = queue.send("first", MessageAttributes=attributes)
    queue.send("second")
    first, second = operator.peek(queue)
    assert (first["body"], second["body"]) == ("first", "second")
    assert first["id"] == sent["MessageId"]
    assert first["state"] == "ready"
    assert first["attributes"] == {"n": {"type": "Number", "value": "1"}}
    assert queue.counts() == (2, 0, 0)
    assert queue.receive_one()["Attributes"]["ApproximateReceiveCount"] == "1"


def test_messages_are_seen_by_id(queue: Queue, operator: Admin) -> None:
    ids = [queue.send(str(each))["MessageId"] for each in range(5)]
    (seen,) = operator.peek(queue, id=ids[3])
    assert seen["body"] == "3"
    assert operator.refusal_of(f"/queues/{queue.name}/messages?id=missing") == 404


def test_messages_are_seen_by_range(queue: Queue, operator: Admin) -> None:
    queue.send_all([str(each) for each in range(30)])
    page = operator.get(f"/queues/{queue.name}/messages", limit=4)
    assert [each["body"] for each in page["messages"]] == ["0", "1", "2", "3"]
    page = operator.get(f"/queues/{queue.name}/messages", **{"from": page["next"], "limit": 100})
    assert [each["body"] for each in page["messages"]] == [str(each) for each in range(4, 30)]
    assert page["next"] is None


def test_messages_are_seen_by_state(queue: Queue, operator: Admin) -> None:
    queue.send_all(["done", "held", "waiting"])
    queue.send("later", DelaySeconds=900)
    done, held = queue.receive(2)
    queue.delete(done)
    states = {
        state: [each["body"] for each in operator.peek(queue, state=state)]
        for state in ("ready", "in_flight", "delayed", "done", "dead")
    }
    assert states == {
        "ready": ["waiting"],
        "in_flight": ["held"],
        "delayed": ["later"],
        "done": ["done"],
        "dead": [],
    }
    (seen,) = operator.peek(queue, state="in_flight")
    assert seen["receive_count"] == 1
    assert 0 < seen["visible_ms"] / 1000 - time.time() <= 30
    queue.delete(held)
    assert operator.refusal_of(f"/queues/{queue.name}/messages?state=lost") == 400
    assert operator.refusal_of(f"/queues/{queue.name}/messages?limit=-1") == 400
    assert operator.refusal_of("/queues/missing/messages") == 404


def test_queues_are_listed_with_their_counts(queue: Queue, operator: Admin) -> None:
    queue.send("x")
    listed = {each["name"]: each for each in operator.get("/queues")["queues"]}
    assert listed[queue.name]["counts"] == {"ready": 1, "in_flight": 0, "delayed": 0}
    known = operator.get(f"/queues/{queue.name}")
    assert known["attributes"]["VisibilityTimeout"] == "30"
    assert known["oldest_message_age_seconds"] < 60


def test_deleted_messages_of_a_time_range_are_delivered_again(
    modern_sqs: Any, operator: Admin
) -> None:
    queue = Queue.create(modern_sqs, **{"duolog:RetainDeleted": 3_600})
    sent_ms = []
    for each in range(5):
        queue.send(str(each))
        (message,) = queue.receive(1)
        sent_ms.append(int(message["Attributes"]["SentTimestamp"]))
        queue.delete(message)
        time.sleep(0.02)
    assert queue.counts() == (0, 0, 0)
    wanted = {"from_ms": sent_ms[1], "to_ms": sent_ms[3]}
    assert operator.post(f"/queues/{queue.name}/replay", wanted) == {"messages": 2}
    found = queue.receive()
    assert [message["Body"] for message in found] == ["1", "2"]
    assert found[0]["Attributes"]["ApproximateReceiveCount"] == "1"
    for message in found:
        queue.delete(message)
    assert operator.post(f"/queues/{queue.name}/replay", {"from_ms": 0, "to_ms": 1 << 50}) == {
        "messages": 5
    }
    assert queue.drain(5) == ["0", "1", "2", "3", "4"]


def test_a_replay_wakes_whoever_waits(modern_sqs: Any, operator: Admin) -> None:
    queue = Queue.create(modern_sqs, **{"duolog:RetainDeleted": 3_600})
    queue.send("x")
    queue.delete(queue.receive_one())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive_one, WaitTimeSeconds=20)
        time.sleep(0.2)
        operator.post(f"/queues/{queue.name}/replay", {"from_ms": 0, "to_ms": 1 << 50})
        assert waiting.result(WAKE_SECONDS_MAX)["Body"] == "x"


def test_a_replay_says_what_it_needs(queue: Queue, operator: Admin) -> None:
    path = f"/queues/{queue.name}/replay"
    assert operator.refusal_of(path, {"from_ms": 1}) == 400
    assert operator.refusal_of(path, {"from_ms": "now", "to_ms": 2}) == 400
    assert operator.refusal_of("/queues/missing/replay", {"from_ms": 1, "to_ms": 2}) == 404
