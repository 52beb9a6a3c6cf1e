"""`duolog group` against a real node and real members."""

import pytest
from confluent_kafka import Consumer
from tests.cli.conftest import Command, Eventually, new_name
from tests.harness.node import Node


@pytest.fixture(scope="module")
def topic(duolog: Command) -> str:
    """Five records in each of two partitions."""
    topic = new_name()
    duolog.json("topic", "create", topic, "-p", "2")
    for partition in ("0", "1"):
        duolog.json("topic", "produce", topic, *"abcde", "--partition", partition)
    return topic


def test_a_group_without_members_is_given_a_place(duolog: Command, name: str, topic: str) -> None:
    done = duolog("group", "reset", name, "--topic", topic, "--to", "2", "--yes", "-o", "json")
    assert "skips 0 records and repeats 0" in done.err
    assert done.rows == [
        {
            "topic": topic,
            "partition": partition,
            "from_offset": None,
            "to_offset": 2,
            "skipped": 0,
            "repeated": 0,
            "reset": True,
        }
        for partition in (0, 1)
    ]
    assert {"group": name, "state": "Empty", "protocol_type": ""} in duolog.json("group", "ls")

    (row,) = duolog.json("group", "info", name)
    assert row.keys() == {
        "group",
        "state",
        "protocol_type",
        "protocol",
        "lag",
        "offsets",
        "members",
    }
    assert row["lag"] == 6
    assert row["members"] == []
    assert row["offsets"][0] == {
        "topic": topic,
        "partition": 0,
        "committed_offset": 2,
        "end_offset": 5,
        "lag": 3,
        "member": None,
    }


@pytest.mark.parametrize(
    ("to", "expected", "skipped", "repeated"),
    [
        ("start", 0, 0, 2),
        ("end", 5, 3, 0),
        ("4", 4, 2, 0),
        ("99", 5, 3, 0),
        ("@-1h", 0, 0, 2),
        ("@-1ms", 5, 3, 0),
    ],
)
def test_a_reset_tells_what_is_skipped_and_repeated(
    duolog: Command, name: str, topic: str, to: str, expected: int, skipped: int, repeated: int
) -> None:
    duolog.json("group", "reset", name, "--topic", topic, "--to", "2", "--yes")
    rehearsed = duolog.json("group", "reset", name, "--to", to, "--partition", "1", "--dry-run")
    assert rehearsed == [
        {
            "topic": topic,
            "partition": 1,
            "from_offset": 2,
            "to_offset": expected,
            "skipped": skipped,
            "repeated": repeated,
            "reset": False,
        }
    ]
    duolog.json("group", "reset", name, "--to", to, "--partition", "1", "--yes")
    (row,) = duolog.json("group", "info", name)
    assert [each["committed_offset"] for each in row["offsets"]] == [2, expected]


def test_members_are_shown_and_protect_their_group(
    duolog: Command, node: Node, name: str, topic: str, eventually: Eventually
) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": node.kafka,
            "group.id": name,
            "client.id": "worker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    try:
        eventually(lambda: consumer.poll(0.1) is not None)
        consumer.commit(asynchronous=False)
        (row,) = duolog.json("group", "info", name)
        (member,) = row["members"]
        assert row["state"] == "Stable"
        assert member["client"] == "worker"
        assert member["assignment"] == {topic: [0, 1]}
        assert {each["member"] for each in row["offsets"]} == {member["member"]}

        refused = duolog("group", "reset", name, "--to", "start", "--yes")
        assert (refused.code, refused.out) == (4, "")
        assert "has members, which would overwrite this. Stop its consumers" in refused.err
    finally:
        consumer.close()
    assert duolog("group", "reset", name, "--to", "start", "--yes").code == 0


def test_a_group_keeps_offsets_of_a_topic_that_is_gone(
    duolog: Command, name: str, topic: str
) -> None:
    other = new_name()
    duolog.json("topic", "create", other)
    duolog.json("group", "reset", name, "--topic", topic, "--topic", other, "--to", "0", "--yes")
    duolog.json("topic", "rm", other, "--yes")
    (row,) = duolog.json("group", "info", name)
    assert {each["topic"] for each in row["offsets"]} >= {topic}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("info", "absent"), 3),
        (("reset", "absent", "--to", "start", "--yes"), 3),
        (("reset", "absent", "--to", "start", "--topic", "absent", "--yes"), 3),
        (("reset", "absent", "--to", "soon"), 2),
        (("reset", "absent"), 2),
        (("ls", "--kafka", "127.0.0.1:1"), 5),
    ],
)
def test_what_fails_has_its_exit_code(
    duolog: Command, arguments: tuple[str, ...], code: int
) -> None:
    done = duolog("group", *arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err
