"""A full disk takes no new records and does the rest, and is forgiven once there is space again."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.mounts import PowerCut, small_file_system
from tests.harness.node import Node
from tests.harness.sqs_line import Refused, SqsLine
from tests.harness.wire import Wire, batch_of

STORAGE_ERROR = 56
MIB = 1 << 20
DISK_BYTES = 24 * MIB
BALLAST_BYTES = 14 * MIB
VALUE_BYTES = 300_000
BATCHES_MAX = 100
TOPIC = "filling"
UNAVAILABLE = "ServiceUnavailableException"
WAIT_SECONDS_MAX = 30.0


def value_of(number: int) -> bytes:
    return (b"%d " % number).ljust(VALUE_BYTES, b"#")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def until_room(node: Node) -> None:
    """Until the node takes new records again, by itself."""
    until(lambda: node.metric("duolog_disk_full") == 0)


def check_stored(wire: Wire, count: int) -> None:
    """Exactly the acknowledged records are there, in order."""
    for offset in range(count):
        code, data = wire.fetch(TOPIC, 0, offset)
        assert code == 0
        assert value_of(offset) in data
    assert wire.fetch(TOPIC, 0, count) == (0, b"")


def test_a_full_disk_refuses_writes_serves_reads_and_recovers(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(BALLAST_BYTES))
        settings = {"topic.segment.bytes": 4 * MIB, "log.checkpoint.interval.ms": 100}
        with Node(tmp_path / "node", settings, data=disk / "data") as node:
            with Wire(node.kafka) as wire:
                assert wire.create_topic(TOPIC) == 0
                stored = 0
                for _ in range(BATCHES_MAX):
                    code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
                    if code:
                        break
                    assert offset == stored
                    stored += 1
                assert code == STORAGE_ERROR
                assert stored > 20

                # Long enough for checkpoints, which the reserve has room for.
                time.sleep(0.5)
                check_stored(wire, stored)
                assert wire.produce(TOPIC, 0, batch_of([value_of(stored)]))[0] == STORAGE_ERROR
                assert "the disk is full" in node.asked("/readyz").decode()
                assert wire.create_topic("another") == STORAGE_ERROR

                ballast.unlink()
                until_room(node)
                assert "notes" not in node.asked("/readyz").decode()
                for _ in range(5):
                    code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
                    assert (code, offset) == (0, stored)
                    stored += 1
                check_stored(wire, stored)
            errors = [line for line in node.log_text.splitlines() if '"error"' in line]
            assert len(errors) == 2
            assert "the disk is full" in errors[0]
            assert "the disk has room again" in errors[1]

            node.kill()
            node.start()
            with Wire(node.kafka) as wire:
                check_stored(wire, stored)
                assert wire.produce(TOPIC, 0, batch_of([value_of(stored)])) == (0, stored)
            node.restart()
            with Wire(node.kafka) as wire:
                check_stored(wire, stored + 1)


def test_an_idempotent_producer_gets_through_a_full_disk_without_repetition(
    tmp_path: Path,
) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        ballast = disk / "ballast"
        with Node(tmp_path / "node", data=disk / "data") as node, Wire(node.kafka) as wire:
            assert wire.create_topic(TOPIC) == 0

            def produce(number: int) -> int:
                batch = batch_of(
                    [value_of(number)], producer_id=1_000, producer_epoch=0, base_sequence=number
                )
                return wire.produce(TOPIC, 0, batch)[0]

            assert [produce(number) for number in range(3)] == [0, 0, 0]
            with ballast.open("wb") as file:
                try:
                    while True:
                        file.write(bytes(MIB // 4))
                        file.flush()
                except OSError:
                    pass
            assert produce(3) == STORAGE_ERROR
            assert produce(3) == STORAGE_ERROR
            ballast.unlink()
            until_room(node)
            assert [produce(3), produce(3), produce(4)] == [0, 0, 0]
            check_stored(wire, 5)


class Line:
    """A queue, in the words that these tests need."""

    def __init__(self, wire: SqsLine, name: str) -> None:
        self._wire = wire
        self.url = wire.call("CreateQueue", QueueName=name)["QueueUrl"]

    def send(self, number: int) -> None:
        body = value_of(number).decode()
        self._wire.call("SendMessage", QueueUrl=self.url, MessageBody=body)

    def send_until_refused(self, first: int = 0) -> int:
        """The number of the first message that was not taken."""
        for number in range(first, first + 10 * BATCHES_MAX):
            if self.refuses(number):
                return number
        raise AssertionError("the disk is not full")

    def take(self) -> int:
        """Receive one message and delete it; returns its number."""
        (message,) = self._wire.call("ReceiveMessage", QueueUrl=self.url)["Messages"]
        receipt = message["ReceiptHandle"]
        self._wire.call("DeleteMessage", QueueUrl=self.url, ReceiptHandle=receipt)
        return int(message["Body"].split()[0])

    def purge(self) -> None:
        self._wire.call("PurgeQueue", QueueUrl=self.url)

    def refuses(self, number: int) -> bool:
        try:
            self.send(number)
        except Refused as refusal:
            return refusal.code == UNAVAILABLE
        return False


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_a_full_disk_hands_messages_out_and_makes_room_also_after_a_restart(
    tmp_path: Path, ending: str
) -> None:
    disk = PowerCut(tmp_path / "disk", 40 * MIB)
    try:
        settings = {
            "log.reserve.bytes": 4 * MIB,
            "sqs.purge.interval.seconds": 0,
            "topic.segment.bytes": 4 * MIB,
            "topic.file.delete.delay.ms": 0,
        }
        node = Node(tmp_path / "node", settings, data=disk.mounted / "data").start()
        with SqsLine(node.sqs) as wire:
            used, fresh, idle = (Line(wire, name) for name in ("used", "fresh", "idle"))
            for number in range(4):
                used.send(number)
                fresh.send(number)
                idle.send(number)
            assert used.take() == 0
            stored = used.send_until_refused(4)
            assert used.take() == 1
            assert [fresh.take(), fresh.take()] == [0, 1]
            assert node.metric("duolog_disk_full") == 1
        getattr(node, ending)()
        node.start()
        with SqsLine(node.sqs) as wire:
            used, fresh, idle = (Line(wire, name) for name in ("used", "fresh", "idle"))
            assert "the disk is full" in node.asked("/readyz").decode()
            assert used.refuses(stored)
            assert used.take() == 2
            assert fresh.take() == 2
            assert idle.take() == 0
            assert [used.take() for _ in range(3, stored)] == list(range(3, stored))
            used.purge()
            # What was taken is reclaimed, and the gate opens by itself.
            until_room(node)
            used.send(stored)
            assert used.take() == stored
            assert idle.take() == 1
        node.stop()
    finally:
        disk.remove()


def fill(file: Path) -> None:
    """Until not a byte is left."""
    with file.open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            return


def test_a_node_starts_without_a_byte_of_room_and_serves_what_it_has(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        node = Node(tmp_path / "node", data=disk / "data").start()
        with Wire(node.kafka) as wire:
            assert wire.create_topic(TOPIC) == 0
            assert wire.produce(TOPIC, 0, batch_of([value_of(0)]))[0] == 0
        node.kill()
        (disk / "data" / "reserve").unlink()
        fill(disk / "ballast")
        node.start()
        with Wire(node.kafka) as wire:
            check_stored(wire, 1)
            assert wire.produce(TOPIC, 0, batch_of([value_of(1)]))[0] == STORAGE_ERROR
        node.stop()


def test_a_new_node_waits_for_room_and_then_starts_by_itself(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        fill(disk / "ballast")
        node = Node(tmp_path / "node", data=disk / "data").spawn()
        until(lambda: "waits for room to start" in node.log_text)
        (disk / "ballast").unlink()
        node.until_ready()
        with Wire(node.kafka) as wire:
            assert wire.create_topic(TOPIC) == 0
            assert wire.produce(TOPIC, 0, batch_of([value_of(0)])) == (0, 0)
            check_stored(wire, 1)
        node.stop()
        assert node.log_text.count("waits for room to start") == 1


def test_a_node_that_waits_for_room_can_be_stopped(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        fill(disk / "ballast")
        node = Node(tmp_path / "node", data=disk / "data").spawn()
        until(lambda: "waits for room to start" in node.log_text)
        node.terminate()
        assert node.wait() == 0
