"""A node that is killed at any moment has metered what it acknowledged, and nothing twice."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.harness.load import NumberedLoad
from tests.harness.node import Node
from tests.harness.sqs_line import SqsLine
from tests.harness.usage import Line, read_lines, told, total, until_total
from tests.harness.wire import Wire

ROUNDS = max(3, int(os.environ.get("DUOLOG_CRASH_ROUNDS", "8")) // 8)
KILL_SECONDS_MIN, KILL_SECONDS_MAX = 0.05, 0.5
PARTITIONS = 4
FIELDS = ("requests", "messages", "bytes", "byte_seconds", "errors")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """Closes and sends an interval every second, so that a kill often meets it."""
    with Node(tmp_path, {"usage.interval.seconds": 1}) as node:
        yield node


class Sender(Thread):
    """Sends messages one by one, and knows what became of each."""

    def __init__(self, node: Node, url: str) -> None:
        super().__init__(daemon=True)
        self._node = node
        self._url = url
        self._stopping = Event()
        self.acknowledged = 0
        self.unknown = 0
        self.start()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with SqsLine(self._node.sqs, None) as line:
                    while not self._stopping.is_set():
                        self.unknown += 1
                        line.call("SendMessage", QueueUrl=self._url, MessageBody="x" * 10)
                        self.unknown -= 1
                        self.acknowledged += 1
            except (OSError, AssertionError, ValueError):
                time.sleep(0.02)

    def finish(self) -> None:
        self._stopping.set()
        self.join(20)


def sums(lines: list[Line]) -> Counter[tuple[str, ...]]:
    counted: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        for field in FIELDS:
            key = (line["tenant"], line["kind"], line["resource"], line["operation"], field)
            counted[key] += line[field]
    return counted


@pytest.mark.timeout(60 + 10 * ROUNDS)
def test_a_killed_node_has_metered_what_it_acknowledged_once(
    node: Node, chance: random.Random
) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=PARTITIONS) == 0
    with SqsLine(node.sqs, None) as line:
        url = line.call("CreateQueue", QueueName="letters")["QueueUrl"]
    sender = Sender(node, url)
    with NumberedLoad(node.kafka, "numbers", PARTITIONS) as load:
        for _ in range(ROUNDS):
            load.wait_for_progress()
            time.sleep(chance.uniform(KILL_SECONDS_MIN, KILL_SECONDS_MAX))
            node.kill()
            node.check_log()
            node.restart()
        sender.finish()
        load.finish()
    read = partial(read_lines, node.kafka)
    # An idempotent producer's records are known to be there once, so they are counted to the
    # record. Whoever sends to a queue and is not answered cannot know.
    until_total(read, "numbers", "produce", load.total)
    lines = read()
    sent = total(lines, "letters", "send")
    print(f"{load.total} records, {sent} messages, {sender.unknown} unknown, {ROUNDS} kills")
    assert sender.acknowledged <= sent <= sender.acknowledged + sender.unknown
    assert total(lines, "letters", "send", "bytes") == 10 * sent

    # The node's own sums are those of the lines, whenever it is asked.
    node.restart()
    summed = told(node)
    lines = [each for each in read() if each["sequence"] <= summed["sent_sequence"]]
    assert {each["journal"] for each in lines} == {summed["journal"]}
    assert Counter(
        {
            (row["tenant"], row["kind"], row["resource"], row["operation"], field): row[field]
            for row in summed["totals"]
            for field in FIELDS
        }
    ) == sums(lines)


def test_a_node_that_stops_in_order_has_sent_its_lines(node: Node) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers") == 0
    with NumberedLoad(node.kafka, "numbers", 1) as load:
        load.wait_for_progress(records=100)
        load.finish()
    node.restart()
    assert total(read_lines(node.kafka), "numbers", "produce") == load.total
    assert not node.log_text.count("wait")
