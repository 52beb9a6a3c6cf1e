"""`duolog queue`, where a real node cannot be brought to misbehave, or takes too long to."""

import json
from typing import Any

import pytest
from tests.unit.cli.conftest import Run
from tests.unit.cli.door_server import ARN, URL, DoorServer, refusal

from duolog.cli.queues import redrive, send
from duolog.wire.sqs.sigv4 import verify

DETAILS = {
    "name": "orders",
    "kind": "standard",
    "counts": {"ready": 3, "in_flight": 2, "delayed": 1},
    "partitions": 2,
    "attributes": {"VisibilityTimeout": "30"},
    "tags": {},
    "topic": "orders",
    "topic_records": 9,
    "created_ms": 5,
    "oldest_message_age_seconds": 1.5,
}


def peeked(partition: int, offset: int) -> dict[str, Any]:
    return {
        "id": f"m-{partition}-{offset}",
        "partition": partition,
        "offset": offset,
        "state": "ready",
        "receive_count": 0,
        "visible_ms": None,
        "sent_ms": 7,
        "group_id": None,
        "deduplication_id": None,
        "dead_letter_source": None,
        "attributes": {"colour": {"type": "String", "value": "blue"}},
        "body": "hello",
    }


def accept_all(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "Successful": [
            {
                "Id": entry["Id"],
                "MessageId": f"id of {entry['MessageBody']}",
                "MD5OfMessageBody": "digest",
            }
            for entry in reversed(asked["Entries"])
        ]
    }


def test_a_queue_is_created_with_what_was_given(doors: DoorServer, queue: Run) -> None:
    doors.answers["CreateQueue"] = lambda asked: {"QueueUrl": URL + asked["QueueName"]}
    done = queue(
        *("create", "orders.fifo", "-a", "DelaySeconds=5", "--tag", "team=blue"),
        *("--dead-letter", "dead", "--max-receives", "3", "--source-topic", "events"),
        *("-o", "json"),
    )
    assert json.loads(done.stdout) == [{"name": "orders.fifo", "url": URL + "orders.fifo"}]
    (asked,) = doors.asked_for("CreateQueue")
    assert asked["tags"] == {"team": "blue"}
    policy = json.loads(asked["Attributes"].pop("RedrivePolicy"))
    assert policy == {"deadLetterTargetArn": ARN + "dead", "maxReceiveCount": "3"}
    assert asked["Attributes"] == {
        "DelaySeconds": "5",
        "FifoQueue": "true",
        "duolog:SourceTopic": "events",
    }


def test_a_listing_can_be_narrowed(doors: DoorServer, queue: Run) -> None:
    doors.answers["GET /queues"] = lambda asked: {
        "queues": [{**DETAILS, "name": name} for name in ("a1", "a2", "b1")]
    }
    assert [row["name"] for row in json.loads(queue("ls", "a", "-o", "json").stdout)] == [
        "a1",
        "a2",
    ]
    assert queue("ls", "z", "-o", "json").stdout == "[]\n"


def test_the_description_of_a_queue_is_flat(doors: DoorServer, queue: Run) -> None:
    doors.answers["GET /queues/orders"] = lambda asked: DETAILS
    (row,) = json.loads(queue("info", "orders", "-o", "json").stdout)
    counts = DETAILS["counts"]
    assert isinstance(counts, dict)
    assert row == {**{k: v for k, v in DETAILS.items() if k != "counts"}, **counts}


def test_messages_are_sent_in_batches_of_ten_and_told_in_order(
    doors: DoorServer, queue: Run
) -> None:
    doors.answers["SendMessageBatch"] = accept_all
    bodies = [str(number) for number in range(23)]
    done = queue("send", "orders", "-o", "jsonl", lines="".join(f"{body}\n" for body in bodies))
    ids = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert ids == [f"id of {body}" for body in bodies]
    sizes = [len(asked["Entries"]) for asked in doors.asked_for("SendMessageBatch")]
    assert sizes == [10, 10, 3]
    assert done.stderr == "23 messages sent to queue 'orders'.\n"


def test_a_batch_is_no_larger_than_sqs_takes(
    doors: DoorServer, queue: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "BATCH_BYTES_MAX", 40)
    doors.answers["SendMessageBatch"] = accept_all
    queue("send", "orders", "x" * 15, "y" * 15, "z" * 15, "-a", "a=b")
    sizes = [len(asked["Entries"]) for asked in doors.asked_for("SendMessageBatch")]
    assert sizes == [1, 1, 1]
    entry = doors.asked_for("SendMessageBatch")[0]["Entries"][0]
    assert entry["MessageAttributes"] == {"a": {"DataType": "String", "StringValue": "b"}}


def test_what_a_message_was_given_is_sent(doors: DoorServer, queue: Run) -> None:
    doors.answers["SendMessageBatch"] = accept_all
    queue("send", "o.fifo", "x", "--group", "g", "--dedup", "d", "--delay", "5")
    assert doors.asked_for("SendMessageBatch")[0]["Entries"] == [
        {
            "Id": "0",
            "MessageBody": "x",
            "DelaySeconds": 5,
            "MessageDeduplicationId": "d",
            "MessageGroupId": "g",
        }
    ]


def test_refused_messages_are_told_and_fail_the_command(doors: DoorServer, queue: Run) -> None:
    doors.answers["SendMessageBatch"] = lambda asked: {
        "Successful": [{"Id": "0", "MessageId": "first", "MD5OfMessageBody": "digest"}],
        "Failed": [{"Id": "1", "SenderFault": True, "Code": "Bad", "Message": "No such thing."}],
    }
    done = queue("send", "orders", "a", "b", "-o", "json")
    assert done.exit_code == 1
    assert [row["id"] for row in json.loads(done.stdout)] == ["first"]
    assert "1 message sent" in done.stderr
    assert "1 were refused: No such thing. Correct them" in done.stderr


def test_lines_that_are_no_text_are_not_sent(doors: DoorServer, queue: Run) -> None:
    done = queue("send", "orders", lines=b"\xff\n")
    assert done.exit_code == 2
    assert "not UTF-8" in done.stderr


def test_one_deduplication_id_is_for_one_message(doors: DoorServer, queue: Run) -> None:
    done = queue("send", "orders.fifo", "a", "b", "--dedup", "1")
    assert done.exit_code == 2
    assert doors.asked_for("SendMessageBatch") == []


def test_messages_are_deleted_once_they_are_printed(doors: DoorServer, queue: Run) -> None:
    left = [{"MessageId": str(at), "ReceiptHandle": f"r{at}", "Body": "b"} for at in range(12)]

    def receive(asked: dict[str, Any]) -> dict[str, Any]:
        count = asked["MaxNumberOfMessages"]
        given, left[:] = left[:count], left[count:]
        return {"Messages": given} if given else {}

    doors.answers["ReceiveMessage"] = receive
    doors.answers["DeleteMessageBatch"] = lambda asked: {}
    done = queue("receive", "orders", "-n", "50", "--delete", "--visibility", "9", "-o", "jsonl")
    assert len(done.stdout.splitlines()) == 12
    deleted = [
        entry["ReceiptHandle"]
        for asked in doors.asked_for("DeleteMessageBatch")
        for entry in asked["Entries"]
    ]
    assert deleted == [f"r{at}" for at in range(12)]
    assert {asked["VisibilityTimeout"] for asked in doors.asked_for("ReceiveMessage")} == {9}


def test_a_message_that_could_not_be_deleted_is_told(doors: DoorServer, queue: Run) -> None:
    doors.answers["ReceiveMessage"] = lambda asked: {
        "Messages": [{"MessageId": "m", "ReceiptHandle": "r", "Body": "b"}]
    }
    doors.answers["DeleteMessageBatch"] = lambda asked: {
        "Failed": [{"Id": "0", "SenderFault": True, "Code": "ReceiptHandleIsInvalid"}]
    }
    done = queue("receive", "orders", "--delete", "-o", "json")
    assert done.exit_code == 1
    assert [row["id"] for row in json.loads(done.stdout)] == ["m"]
    assert "ReceiptHandleIsInvalid. They will be delivered again." in done.stderr


def test_a_received_message_has_one_shape(doors: DoorServer, queue: Run) -> None:
    doors.answers["ReceiveMessage"] = lambda asked: {
        "Messages": [
            {
                "MessageId": "m",
                "ReceiptHandle": "r",
                "Body": "b",
                "Attributes": {"ApproximateReceiveCount": "2", "MessageGroupId": "g"},
                "MessageAttributes": {
                    "text": {"DataType": "String", "StringValue": "é"},
                    "bytes": {"DataType": "Binary", "BinaryValue": "AP8="},
                },
            }
        ]
    }
    assert json.loads(queue("receive", "orders", "-o", "json").stdout) == [
        {
            "queue": "orders",
            "id": "m",
            "receipt_handle": "r",
            "receive_count": 2,
            "sent_ms": None,
            "first_received_ms": None,
            "group_id": "g",
            "deduplication_id": None,
            "sequence_number": None,
            "attributes": {
                "text": {"type": "String", "value": "é"},
                "bytes": {"type": "Binary", "value": "AP8="},
            },
            "body": "b",
        }
    ]


def test_peeking_goes_through_partitions_and_pages(doors: DoorServer, queue: Run) -> None:
    def page(partition: int, offset: int, limit: int, following: int | None) -> None:
        target = f"partition={partition}&from={offset}&limit={limit}&state=ready"
        doors.answers[f"GET /queues/orders/messages?{target}"] = lambda asked: {
            "messages": [peeked(partition, offset)],
            "next": following,
        }

    doors.answers["GET /queues/orders"] = lambda asked: DETAILS
    page(0, 4, 3, 9)
    page(0, 9, 2, None)
    page(1, 4, 1, 6)
    done = queue("peek", "orders", "--state", "ready", "--from", "4", "--limit", "3", "-o", "json")
    rows = json.loads(done.stdout)
    assert [row["id"] for row in rows] == ["m-0-4", "m-0-9", "m-1-4"]
    assert rows[0] == {"queue": "orders", **peeked(0, 4)}


def test_peeking_can_be_for_one_message(doors: DoorServer, queue: Run) -> None:
    doors.answers["GET /queues/orders/messages?id=m-0-4"] = lambda asked: {
        "messages": [peeked(0, 4)],
        "next": None,
    }
    assert "m-0-4" in queue("peek", "orders", "--id", "m-0-4").stdout


@pytest.mark.parametrize(("verb", "action"), [("purge", "PurgeQueue"), ("rm", "DeleteQueue")])
def test_what_would_be_lost_is_told_before_it_is(
    doors: DoorServer, queue: Run, verb: str, action: str
) -> None:
    doors.answers["GET /queues/orders"] = lambda asked: DETAILS
    doors.answers[action] = lambda asked: None
    how_long = "" if verb == "purge" else " for ever"
    counts = f"6 messages{how_long}: 3 ready, 2 in flight and 1 delayed."

    rehearsed = queue(verb, "orders", "--dry-run")
    assert rehearsed.exit_code == 0
    assert counts in rehearsed.stderr
    refused = queue(verb, "orders")
    assert refused.exit_code == 4
    assert counts in refused.stderr
    assert doors.asked_for(action) == []

    done = queue(verb, "orders", "--yes", "-o", "json")
    assert done.exit_code == 0
    (row,) = json.loads(done.stdout)
    assert row["purged" if verb == "purge" else "removed"] is True
    assert doors.asked_for(action) == [{"QueueUrl": URL + "orders"}]


def test_the_records_of_a_source_topic_are_not_counted_as_lost(
    doors: DoorServer, queue: Run
) -> None:
    attributes = {"duolog:SourceTopic": "events"}
    doors.answers["GET /queues/orders"] = lambda asked: {**DETAILS, "attributes": attributes}
    told = queue("rm", "orders", "--dry-run").stderr
    assert "topic 'events' stay" in told
    assert "goes" not in told


def test_with_a_queue_its_topic_goes(doors: DoorServer, queue: Run) -> None:
    doors.answers["GET /queues/orders"] = lambda asked: DETAILS
    topic_goes = "So goes topic 'orders' with 9 records."
    assert topic_goes in queue("rm", "orders", "--dry-run").stderr
    assert topic_goes not in queue("purge", "orders", "--dry-run").stderr


def test_a_purge_tells_how_long_messages_can_be_replayed(doors: DoorServer, queue: Run) -> None:
    attributes = {"duolog:RetainDeleted": "3600"}
    doors.answers["GET /queues/orders"] = lambda asked: {**DETAILS, "attributes": attributes}
    told = queue("purge", "orders", "--dry-run").stderr
    assert "deletes 6 messages: 3 ready, 2 in flight and 1 delayed." in told
    assert "They can be replayed for 3600 s." in told
    assert "for ever" not in told


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "a replay can bring them back only until their disk space is freed."),
        ({"duolog:SourceTopic": "events"}, "topic 'events' stay, and a replay can deliver them"),
    ],
)
def test_no_purge_says_that_messages_are_gone_while_a_replay_finds_them(
    doors: DoorServer, queue: Run, attributes: dict[str, str], said: str
) -> None:
    doors.answers["GET /queues/orders"] = lambda asked: {**DETAILS, "attributes": attributes}
    told = queue("purge", "orders", "--dry-run").stderr
    assert said in told
    assert "for ever" not in told


def test_what_is_removed_is_gone_for_ever(doors: DoorServer, queue: Run) -> None:
    attributes = {"duolog:RetainDeleted": "3600"}
    doors.answers["GET /queues/orders"] = lambda asked: {**DETAILS, "attributes": attributes}
    assert "for ever" in queue("rm", "orders", "--dry-run").stderr


@pytest.mark.parametrize("form", ["json", "jsonl", "table"])
@pytest.mark.parametrize("arguments", [("receive", "nope"), ("send", "nope", "x")])
def test_a_queue_that_is_not_there_is_no_empty_result(
    doors: DoorServer, queue: Run, arguments: tuple[str, ...], form: str
) -> None:
    doors.answers["GetQueueUrl"] = lambda asked: refusal("QueueDoesNotExist", "absent")
    done = queue(*arguments, "-o", form)
    assert (done.exit_code, done.stdout) == (3, "")


class MoveTasks:
    """A task that gets on a little each time somebody looks."""

    def __init__(self, doors: DoorServer, *statuses: str) -> None:
        self.statuses = list(statuses)
        doors.answers["StartMessageMoveTask"] = lambda asked: {"TaskHandle": "handle"}
        doors.answers["ListMessageMoveTasks"] = self._list

    def _list(self, asked: dict[str, Any]) -> dict[str, Any]:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        task = {
            "Status": status,
            "ApproximateNumberOfMessagesMoved": 5 - len(self.statuses),
            "ApproximateNumberOfMessagesToMove": 5,
        }
        if status == "FAILED":
            task["FailureReason"] = "the destination is gone"
        return {"Results": [task]}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive, "POLL_SECONDS", 0)


@pytest.mark.usefixtures("quick")
def test_a_redrive_is_watched_to_its_end(doors: DoorServer, queue: Run) -> None:
    MoveTasks(doors, "RUNNING", "RUNNING", "COMPLETED")
    done = queue("redrive", "dead", "--to", "orders", "--rate", "9", "-o", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == [
        {
            "source": "dead",
            "destination": "orders",
            "task_handle": "handle",
            "status": "COMPLETED",
            "moved": 4,
            "to_move": 5,
            "failure_reason": None,
        }
    ]
    assert doors.asked_for("StartMessageMoveTask") == [
        {
            "SourceArn": ARN + "dead",
            "DestinationArn": ARN + "orders",
            "MaxNumberOfMessagesPerSecond": 9,
        }
    ]
    assert done.stderr == ""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("status", ["FAILED", "CANCELLED"])
def test_a_redrive_that_did_not_finish_fails(doors: DoorServer, queue: Run, status: str) -> None:
    MoveTasks(doors, "RUNNING", status)
    done = queue("redrive", "dead", "-o", "json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)[0]["status"] == status
    assert "Not all messages of queue 'dead' were moved" in done.stderr


def test_a_redrive_need_not_be_waited_for(doors: DoorServer, queue: Run) -> None:
    MoveTasks(doors, "RUNNING")
    done = queue("redrive", "dead", "--no-wait", "-o", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)[0]["status"] == "RUNNING"


def test_a_replay_is_of_times(doors: DoorServer, queue: Run) -> None:
    doors.answers["POST /queues/orders/replay"] = lambda asked: {"messages": 7}
    done = queue("replay", "orders", "--from", "@2026-01-01", "--to", "end", "-o", "json")
    (asked,) = doors.asked_for("POST /queues/orders/replay")
    assert asked == {"from_ms": 1_767_225_600_000, "to_ms": 2**63 - 1}
    assert json.loads(done.stdout) == [{"name": "orders", **asked, "messages": 7}]
    assert queue("replay", "orders", "--from", "10").exit_code == 2


def test_a_request_is_signed_with_what_aws_tools_use(
    doors: DoorServer, queue: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    doors.answers["CreateQueue"] = lambda asked: {"QueueUrl": URL}
    queue("create", "orders")
    headers = {name.encode(): value.encode() for name, value in doors.headers[0].items()}
    signer = verify(
        "POST",
        "/",
        "",
        headers,
        b'{"QueueName":"orders"}',
        secret_of={"key": "secret"}.get,
        region="eu-west-1",
        now_ms=1_700_000_000_000,
    )
    assert signer == "key"


@pytest.mark.parametrize(
    ("name", "code"),
    [("QueueDoesNotExist", 3), ("OverLimit", 1), ("InvalidSecurity", 4), ("InvalidAddress", 2)],
)
def test_a_refusal_has_its_exit_code(doors: DoorServer, queue: Run, name: str, code: int) -> None:
    doors.answers["GetQueueUrl"] = lambda asked: refusal(name)
    done = queue("receive", "orders", "-o", "json")
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_nobody_there_is_unreachable(queue: Run) -> None:
    done = queue("receive", "orders", "--sqs", "127.0.0.1:1")
    assert done.exit_code == 5
    assert "127.0.0.1:1 cannot be connected to: Connection refused. Check" in done.stderr


def test_a_fifo_queue_without_a_group_is_told_the_option(queue: Run) -> None:
    done = queue("send", "orders.fifo", "hello")
    assert done.exit_code == 2
    assert "whose messages need a group. Name one with --group." in done.stderr


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("VisibilityTimeot", "There is no queue attribute 'VisibilityTimeot'. Did you mean 'Visi"),
        ("Foo", "Queue 'orders': It is not so."),
    ],
)
def test_a_mistyped_attribute_gets_a_suggestion(
    doors: DoorServer, queue: Run, attribute: str, said: str
) -> None:
    doors.answers["CreateQueue"] = lambda asked: refusal("InvalidAttributeName")
    done = queue("create", "orders", "-a", f"{attribute}=5")
    assert done.exit_code == 2
    assert said in done.stderr


def test_what_is_no_admin_api_is_told_in_plain_words(doors: DoorServer, queue: Run) -> None:
    doors.answers["GET /queues"] = lambda asked: {"something": "else"}
    done = queue("ls")
    assert done.exit_code == 1
    assert "is not an admin API. Check that the address is that of a node." in done.stderr
