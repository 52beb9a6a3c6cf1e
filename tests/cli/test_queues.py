"""`duolog queue` against a real node."""

import json

import pytest
from tests.cli.conftest import Command, Eventually


@pytest.fixture
def queue(duolog: Command, name: str) -> str:
    duolog.json("queue", "create", name)
    return name


def counts(duolog: Command, name: str) -> tuple[int, int, int]:
    (row,) = duolog.json("queue", "info", name)
    return row["ready"], row["in_flight"], row["delayed"]


def test_a_queue_comes_and_goes(duolog: Command, name: str) -> None:
    (created,) = duolog.json("queue", "create", name, "-a", "DelaySeconds=0", "--tag", "a=b")
    assert created["name"] == name
    assert created["url"].endswith(f"/{name}")
    (listed,) = duolog.json("queue", "ls", name)
    assert listed == {
        "name": name,
        "kind": "standard",
        "partitions": 1,
        "ready": 0,
        "in_flight": 0,
        "delayed": 0,
    }
    (row,) = duolog.json("queue", "info", name)
    assert row["tags"] == {"a": "b"}
    assert row["attributes"]["DelaySeconds"] == "0"
    assert row["oldest_message_age_seconds"] is None

    duolog.json("queue", "send", name, "one", "two")
    rehearsed = duolog("queue", "rm", name, "--dry-run", "-o", "json")
    assert rehearsed.rows[0]["removed"] is False
    assert "loses 2 messages for ever: 2 ready, 0 in flight and 0 delayed." in rehearsed.err
    assert duolog("queue", "rm", name).code == 4
    assert duolog.json("queue", "rm", name, "--yes")[0]["removed"] is True
    assert duolog("queue", "info", name).code == 3


def test_a_message_comes_back_as_it_went(duolog: Command, queue: str) -> None:
    (sent,) = duolog.json("queue", "send", queue, "hëllo", "-a", "colour=blue")
    (received,) = duolog.json("queue", "receive", queue)
    assert received["id"] == sent["id"]
    assert received["body"] == "hëllo"
    assert received["receive_count"] == 1
    assert received["attributes"] == {"colour": {"type": "String", "value": "blue"}}
    assert duolog("queue", "receive", queue, "-o", "json").out == "[]\n"
    assert counts(duolog, queue) == (0, 1, 0)


def test_lines_are_messages_and_deleted_ones_are_gone(duolog: Command, queue: str) -> None:
    bodies = [str(number) for number in range(25)]
    duolog("queue", "send", queue, lines="\n".join(bodies))
    done = duolog("queue", "receive", queue, "-n", "25", "--wait", "5", "--delete", "-o", "jsonl")
    assert sorted(json.loads(line)["body"] for line in done.out.splitlines()) == sorted(bodies)
    assert counts(duolog, queue) == (0, 0, 0)


def test_a_message_can_be_delayed(duolog: Command, queue: str) -> None:
    duolog.json("queue", "send", queue, "later", "--delay", "900")
    assert counts(duolog, queue) == (0, 0, 1)


def test_waiting_brings_what_is_sent_meanwhile(duolog: Command, queue: str) -> None:
    with duolog.start("queue", "receive", queue, "--wait", "20", "-o", "json", stdout=-1) as waits:
        duolog.json("queue", "send", queue, "at last")
        out, _ = waits.communicate(timeout=30)
    assert [row["body"] for row in json.loads(out)] == ["at last"]


def test_a_fifo_queue_keeps_order_and_drops_repetitions(duolog: Command, name: str) -> None:
    fifo = f"{name}.fifo"
    duolog.json("queue", "create", fifo)
    assert duolog.json("queue", "ls", fifo)[0]["kind"] == "fifo"
    for number in ("1", "2", "2", "3"):
        duolog.json("queue", "send", fifo, number, "--group", "g", "--dedup", number)
    received = duolog.json("queue", "receive", fifo, "-n", "10", "--delete")
    assert [row["body"] for row in received] == ["1", "2", "3"]
    assert {row["group_id"] for row in received} == {"g"}


def test_peeking_changes_nothing(duolog: Command, queue: str) -> None:
    sent = duolog.json("queue", "send", queue, "a", "b", "c")
    duolog.json("queue", "receive", queue)
    assert [row["body"] for row in duolog.json("queue", "peek", queue)] == ["a", "b", "c"]
    in_flight = duolog.json("queue", "peek", queue, "--state", "in_flight")
    ready = duolog.json("queue", "peek", queue, "--state", "ready", "--limit", "1")
    assert {row["state"] for row in in_flight} == {"in_flight"}
    assert len(ready) == 1
    (one,) = duolog.json("queue", "peek", queue, "--id", sent[2]["id"])
    assert (one["body"], one["offset"]) == ("c", 2)
    assert [row["body"] for row in duolog.json("queue", "peek", queue, "--from", "1")] == ["b", "c"]
    assert counts(duolog, queue) == (2, 1, 0)
    assert duolog("queue", "peek", queue, "--id", "nonsense").code == 3


def test_a_purge_tells_and_deletes(duolog: Command, queue: str) -> None:
    duolog.json("queue", "send", queue, "a", "b", "c")
    done = duolog("queue", "purge", queue, "--yes", "-o", "json")
    assert done.rows[0]["purged"] is True
    assert "deletes 3 messages: 3 ready" in done.err
    assert counts(duolog, queue) == (0, 0, 0)
    again = duolog("queue", "purge", queue, "--yes")
    assert again.code == 1
    assert "Wait a minute" in again.err


def test_dead_letters_are_driven_back(duolog: Command, name: str, eventually: Eventually) -> None:
    dead = f"{name}-dead"
    duolog.json("queue", "create", dead)
    duolog.json("queue", "create", name, "--dead-letter", dead, "--max-receives", "1")
    duolog.json("queue", "send", name, "a", "b")
    duolog.json("queue", "receive", name, "-n", "2", "--visibility", "0")
    duolog.json("queue", "receive", name, "-n", "2")
    eventually(lambda: counts(duolog, dead) == (2, 0, 0))

    (moved,) = duolog.json("queue", "redrive", dead)
    assert (moved["status"], moved["moved"]) == ("COMPLETED", 2)
    assert counts(duolog, dead) == (0, 0, 0)
    assert counts(duolog, name) == (2, 0, 0)
    assert duolog("queue", "redrive", name).code == 2


def test_deleted_messages_are_replayed(duolog: Command, name: str) -> None:
    duolog.json("queue", "create", name, "-a", "duolog:RetainDeleted=3600")
    duolog.json("queue", "send", name, "a", "b")
    duolog.json("queue", "receive", name, "-n", "2", "--delete")
    (replayed,) = duolog.json("queue", "replay", name, "--from", "@-1h")
    assert replayed["messages"] == 2
    assert sorted(row["body"] for row in duolog.json("queue", "receive", name, "-n", "2")) == [
        "a",
        "b",
    ]


def test_a_queue_reads_a_topic_and_a_topic_reads_a_queue(duolog: Command, name: str) -> None:
    topic = f"{name}-events"
    duolog.json("topic", "create", topic)
    duolog.json("queue", "create", name, "--source-topic", topic)
    duolog.json("topic", "produce", topic, "hello", "-H", "colour=blue")
    (received,) = duolog.json("queue", "receive", name, "--wait", "5")
    assert received["body"] == "hello"
    assert received["attributes"]["colour"]["value"] == "blue"

    other = f"{name}-own"
    duolog.json("queue", "create", other)
    duolog.json("queue", "send", other, "read me")
    assert [row["value"] for row in duolog.json("topic", "consume", other)] == ["read me"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("info", "absent"), 3, "There is no queue 'absent'."),
        (("send", "absent", "x"), 3, "There is no queue 'absent'."),
        (("receive", "absent"), 3, "There is no queue 'absent'."),
        (("peek", "absent"), 3, "There is no queue 'absent'."),
        (("purge", "absent", "--yes"), 3, "There is no queue 'absent'."),
        (("redrive", "absent"), 3, "There is no queue 'absent'."),
        (("replay", "absent"), 3, "There is no queue 'absent'."),
        (("rm", "absent", "--yes"), 3, "There is no queue 'absent'."),
        (("create", "no such name"), 2, "Correct it"),
        (("create", "fine", "-a", "Colour=blue"), 2, "Colour"),
        (("create", "fine", "--dead-letter", "absent"), 3, "There is no queue 'absent'."),
        (("receive", "absent", "--visibility", "50000"), 2, ""),
        (("ls", "--admin", "127.0.0.1:1"), 5, "Connection refused"),
        (("receive", "absent", "--sqs", "127.0.0.1:1"), 5, "Connection refused"),
    ],
)
def test_what_fails_says_why_and_how(
    duolog: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = duolog("queue", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_queue_with_other_attributes_is_there_already(duolog: Command, queue: str) -> None:
    assert duolog("queue", "create", queue).code == 0
    done = duolog("queue", "create", queue, "-a", "DelaySeconds=7")
    assert done.code == 1
    assert "already, with other attributes" in done.err


def test_a_message_that_is_not_there_can_be_looked_for_otherwise(
    duolog: Command, queue: str
) -> None:
    done = duolog("queue", "peek", queue, "--id", "nope")
    assert done.code == 3
    assert "no message has the id 'nope'. Run `duolog queue peek` without --id" in done.err


def test_the_topic_of_a_queue_goes_with_its_queue(duolog: Command, queue: str) -> None:
    refused = duolog("topic", "rm", queue, "--yes")
    assert refused.code == 4
    assert f"topic '{queue}' holds the messages of queue '{queue}'" in refused.err
    assert "duolog queue rm" in refused.err
    duolog.json("queue", "send", queue, "x")
    removed = duolog("queue", "rm", queue, "--yes")
    assert removed.code == 0
    assert f"So goes topic '{queue}' with 1 record." in removed.err
    assert duolog("topic", "info", queue).code == 3


def test_done_messages_are_shown_only_where_they_are_asked_for(duolog: Command, name: str) -> None:
    dead, queue = f"{name}-dead", f"{name}-live"
    duolog.json("queue", "create", dead)
    duolog.json(
        *("queue", "create", queue, "--dead-letter", dead, "--max-receives", "1"),
        *("-a", "VisibilityTimeout=0"),
    )
    duolog.json("queue", "send", queue, "poison")
    for _ in range(2):
        duolog.json("queue", "receive", queue)
    assert [row["state"] for row in duolog.json("queue", "peek", dead)] == ["ready"]
    duolog.json("queue", "redrive", dead)
    assert duolog.json("queue", "peek", dead) == []
    assert [row["state"] for row in duolog.json("queue", "peek", dead, "--state", "done")] == [
        "done"
    ]


@pytest.mark.parametrize("verb", [("info",), ("receive",), ("peek",), ("purge", "--yes")])
def test_a_mistyped_queue_gets_a_suggestion(
    duolog: Command, queue: str, verb: tuple[str, ...]
) -> None:
    done = duolog("queue", *verb, f"{queue}x")
    assert done.code == 3
    assert f"There is no queue '{queue}x'. Did you mean 'name-" in done.err
