"""`duolog topic` against a real node."""

import json

import pytest
from tests.cli.conftest import Command, new_name
from tests.harness.node import Node
from tests.harness.wire import Wire

from duolog.records.builder import build_batch
from duolog.records.record import Record


@pytest.fixture
def topic(duolog: Command, name: str) -> str:
    """A topic of two partitions."""
    duolog.json("topic", "create", name, "-p", "2")
    return name


def test_a_topic_comes_and_goes(duolog: Command, name: str) -> None:
    created = duolog.json("topic", "create", name, "-p", "3", "-c", "retention.ms=1000000")
    assert created == [{"name": name, "partitions": 3}]
    listed = {row["name"]: row for row in duolog.json("topic", "ls")}
    assert listed[name] == {"name": name, "internal": False, "partitions": 3, "records": 0}

    rehearsed = duolog("topic", "rm", name, "--dry-run", "-o", "json")
    assert rehearsed.rows[0]["removed"] is False
    assert f"Removing topic '{name}' loses 0 records in 3 partitions" in rehearsed.err
    removed = duolog.json("topic", "rm", name, "--yes")
    assert removed == [{**listed[name], "removed": True}]
    assert name not in {row["name"] for row in duolog.json("topic", "ls")}


def test_a_topic_is_described(duolog: Command, name: str) -> None:
    duolog.json("topic", "create", name, "-c", "retention.ms=1000000")
    duolog.json("topic", "produce", name, "one", "two")
    (row,) = duolog.json("topic", "info", name)
    assert row.keys() == {"name", "id", "internal", "records", "partitions", "settings"}
    assert row["records"] == 2
    assert row["partitions"] == [
        {
            "partition": 0,
            "leader": 1,
            "replicas": [1],
            "in_sync": [1],
            "start_offset": 0,
            "end_offset": 2,
        }
    ]
    assert row["settings"]["retention.ms"] == {"value": "1000000", "own": True}
    assert row["settings"]["cleanup.policy"] == {"value": "delete", "own": False}
    table = duolog("topic", "info", name).out
    assert "retention.ms  1000000" in table
    assert "cleanup.policy" not in table


def test_internal_topics_are_shown_on_request(duolog: Command, topic: str) -> None:
    duolog("group", "reset", "someone", "--topic", topic, "--to", "start", "--yes")
    names = {row["name"] for row in duolog.json("topic", "ls", "--internal")}
    assert "__consumer_offsets" in names
    assert "__consumer_offsets" not in {row["name"] for row in duolog.json("topic", "ls")}


def test_records_come_back_as_they_went(duolog: Command, topic: str) -> None:
    produced = duolog.json(
        *("topic", "produce", topic, "first", "second"),
        *("-k", "key", "-H", "colour=blue", "--partition", "1"),
    )
    assert [(row["partition"], row["offset"]) for row in produced] == [(1, 0), (1, 1)]
    consumed = duolog.json("topic", "consume", topic)
    assert consumed[0] == {
        "topic": topic,
        "partition": 1,
        "offset": 0,
        "timestamp_ms": produced[0]["timestamp_ms"],
        "key": "key",
        "value": "first",
        "headers": [{"name": "colour", "value": "blue"}],
    }
    assert [row["value"] for row in consumed] == ["first", "second"]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_of_standard_input_become_records(duolog: Command, topic: str, codec: str) -> None:
    values = [str(number) for number in range(500)]
    done = duolog(
        *("topic", "produce", topic, "--partition", "0", "-z", codec, "-o", "jsonl"),
        lines="\n".join(values),
    )
    assert [json.loads(line)["offset"] for line in done.out.splitlines()] == list(range(500))
    assert done.err == f"500 records produced to topic '{topic}'.\n"
    consumed = duolog("topic", "consume", topic, "-f", r"%s\n")
    assert consumed.out.splitlines() == values


def test_what_is_no_text_is_kept(duolog: Command, topic: str) -> None:
    duolog("topic", "produce", topic, "--partition", "0", lines=b"\xff\x00\n")
    (row,) = duolog.json("topic", "consume", topic)
    assert (row["value"], row["value_base64"]) == (None, "/wA=")


def test_records_with_one_key_stay_together(duolog: Command, topic: str) -> None:
    rows = [
        row
        for value in ("a", "b", "c")
        for row in duolog.json("topic", "produce", topic, value, "-k", "same")
    ]
    assert len({row["partition"] for row in rows}) == 1


@pytest.fixture(scope="module")
def ten(duolog: Command, node: Node) -> str:
    """Ten records of one partition, a second apart since 2026-01-01."""
    name = new_name()
    duolog.json("topic", "create", name, "-c", "retention.ms=-1")
    first_ms = 1_767_225_600_000
    records = [Record(None, b"%d" % at, (), first_ms + at * 1_000) for at in range(10)]
    with Wire(node.kafka) as wire:
        for record in records:
            code, _ = wire.produce(name, 0, build_batch([record]))
            assert code == 0
    return name


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--offset", "start"), "0123456789"),
        (("--offset", "end"), ""),
        (("--offset", "7"), "789"),
        (("--offset", "2:5"), "234"),
        (("--offset", "8:100"), "89"),
        (("--offset", "start:2"), "01"),
        (("--offset", "@2026-01-01T00:00:04Z"), "456789"),
        (("--offset", "@2026-01-01T00:00:04Z:@2026-01-01T00:00:06Z"), "45"),
        (("--offset", "@2026-01-01T00:00:08Z:end"), "89"),
        (("--offset", "@-1ms"), ""),
        (("-n", "3"), "012"),
        (("-n", "30"), "0123456789"),
        (("--partition", "0", "--offset", "9"), "9"),
    ],
)
def test_ranges_are_read_exactly(
    duolog: Command, ten: str, arguments: tuple[str, ...], expected: str
) -> None:
    assert duolog("topic", "consume", ten, "-f", "%s", *arguments).out == expected


def test_a_format_is_kcat_s(duolog: Command, ten: str) -> None:
    done = duolog("topic", "consume", ten, "-f", r"%t %p %o [%k] %s %T %S %K\n", "-n", "1")
    assert done.out == f"{ten} 0 0 [] 0 1767225600000 1 -1\n"


def test_an_empty_topic_is_an_empty_array(duolog: Command, topic: str) -> None:
    assert duolog("topic", "consume", topic, "-o", "json").out == "[]\n"
    assert duolog("topic", "consume", topic, "-o", "jsonl").out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("info", "absent"), 3, "There is no topic 'absent'. Run `duolog topic ls`"),
        (("consume", "absent"), 3, "There is no topic 'absent'."),
        (("rm", "absent", "--yes"), 3, "There is no topic 'absent'."),
        (("create", "no such name"), 2, "a topic name holds only letters"),
        (("create", "fine", "-c", "colour=blue"), 2, "no topic setting 'colour'"),
        (("create", "fine", "-c", "colour"), 2, "not of the form name=value"),
        (("create", "fine", "-p", "0"), 2, ""),
        (("create", "__consumer_offsets"), 2, "internal"),
        (("consume", "x", "--offset", "soon"), 2, "is no place in a topic"),
        (("consume", "x", "-f", "%z"), 2, "means nothing"),
        (("ls", "--kafka", "nowhere"), 2, "must be host:port"),
        (("ls", "--kafka", "127.0.0.1:1"), 5, "Connection refused. Check that a node"),
        (("ls", "--kafka", "no.such.host.invalid:1"), 5, "no.such.host.invalid:1 cannot be"),
    ],
)
def test_what_fails_says_why_and_how(
    duolog: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = duolog("topic", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in " ".join(done.err.split())


def test_a_partition_that_is_not_there_is_not_found(duolog: Command, topic: str) -> None:
    for verb in (("produce", topic, "x"), ("consume", topic)):
        done = duolog("topic", *verb, "--partition", "2")
        assert done.code == 3
        assert f"There is no partition 2 of topic '{topic}'." in done.err


def test_creating_a_topic_twice_fails(duolog: Command, topic: str) -> None:
    done = duolog("topic", "create", topic)
    assert (done.code, done.out) == (1, "")
    assert f"There is a topic '{topic}' already." in done.err


def test_a_record_that_is_too_large_is_refused(duolog: Command, topic: str) -> None:
    done = duolog("topic", "produce", topic, lines=b"x" * (2 << 20))
    assert done.code == 1
    assert "max.message.bytes" in done.err


def test_a_record_makes_its_topic_as_other_producers_do(duolog: Command, name: str) -> None:
    done = duolog("topic", "produce", name, "hello")
    assert done.code == 0
    assert f"Topic '{name}' was made, with 1 partition." in done.err
    assert duolog("topic", "consume", name, "-f", "%s").out == "hello"
    assert "was made" not in duolog("topic", "produce", name, "again").err


def test_a_mistyped_topic_gets_a_suggestion(duolog: Command, topic: str) -> None:
    done = duolog("topic", "info", f"{topic}s")
    assert done.code == 3
    assert f"There is no topic '{topic}s'. Did you mean 'name-" in done.err


def test_a_partition_that_is_not_there_is_looked_for_where_partitions_are_listed(
    duolog: Command, topic: str
) -> None:
    done = duolog("topic", "consume", topic, "--partition", "99")
    assert f"Its last one is 1: run `duolog topic info {topic}` to see them." in done.err


@pytest.mark.parametrize(
    ("offset", "code", "said"),
    [
        ("9999", 3, "Offset 9999 is beyond the end"),
        ("11:20", 3, "Offset 11 is beyond the end"),
        ("5:1", 2, "The range 5:1 is empty"),
        ("5:5", 2, "The range 5:5 is empty"),
        ("@-1h:@-2h", 2, "is empty"),
        ("10", 0, "has no records there."),
        ("end", 0, "has no records there."),
    ],
)
def test_where_nothing_is_printed_the_reason_is(
    duolog: Command, ten: str, offset: str, code: int, said: str
) -> None:
    done = duolog("topic", "consume", ten, "--offset", offset)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_a_table_cuts_a_long_value_and_json_has_all_of_it(duolog: Command, topic: str) -> None:
    duolog("topic", "produce", topic, lines=b"x" * 400_000)
    shown = duolog("topic", "consume", topic).out
    assert len(shown) < 1_000
    assert "xxx… (399,500 more characters; -o json has all)" in shown
    (row,) = duolog.json("topic", "consume", topic)
    assert len(row["value"]) == 400_000
