"""An opening by any short cut reaches the state that reading everything reaches.

Short cuts are snapshots, a reading that was left half way, and a state kept from before.
"""

from collections.abc import Iterator
from random import Random

import pytest
from tests.fakes.queue_house import QueueHouse, redrive
from tests.unit.broker.queues.openings import known, opened, read_fully, reading

from duolog.broker.admission import at_once
from duolog.broker.queues import snapshots, upkeep
from duolog.broker.queues.kept_states import KeptStates
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.deduplication import DEDUPLICATION_MS
from duolog.core.queues.message import DEDUPLICATION, Outgoing
from duolog.records.builder import build_batch
from duolog.records.record import Record

FIFO = {"FifoQueue": "true"}
KINDS = {
    "standard": ("work", {}),
    "fifo": ("work.fifo", FIFO),
    "content": ("work.fifo", {**FIFO, "ContentBasedDeduplication": "true"}),
    "by group": (
        "work.fifo",
        {**FIFO, "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"},
    ),
}
STEPS = 120


class Life:
    """A queue to which everything happens that can happen to one, by chance."""

    def __init__(self, house: QueueHouse, kind: str, seed: int) -> None:
        self.house = house
        self.random = Random(f"{kind} {seed}")
        self.name, self.attributes = KINDS[kind]
        self.fifo = "FifoQueue" in self.attributes
        dead = "dead.fifo" if self.fifo else "dead"
        house.create(dead, **(FIFO if self.fifo else {}))
        policy = redrive(dead, receives_max=3)
        house.create(self.name, **self.attributes, RedrivePolicy=policy)
        house.receive(self.name)
        self.receipts: list[str] = []
        self.number = 0

    @property
    def queue(self) -> Queue:
        return self.house.queue(self.name)

    @property
    def partition(self) -> QueuePartition:
        return self.queue.partitions[0]

    @property
    def now_ms(self) -> int:
        return self.queue.state.clock.now_ms()

    def step(self) -> None:
        actions = (
            *(self.send,) * 5,
            *(self.receive,) * 5,
            *(self.delete,) * 3,
            *(self.change_visibility,) * 2,
            *(self.pass_time,) * 3,
            self.produce,
            self.replay,
            self.purge,
            self.snapshot,
            self.restart,
        )
        self.random.choice(actions)()

    def send(self) -> None:
        messages = []
        for _ in range(self.random.randrange(1, 6)):
            self.number += self.random.random() < 0.8
            group = self.random.choice("abc")
            if self.fifo:
                given = None if "ContentBasedDeduplication" in self.attributes else f"{self.number}"
                body = f"body {self.number}"
                messages.append(Outgoing(body, group_id=group, deduplication_id=given))
            else:
                delay = self.random.choice((None, None, 2, 60))
                messages.append(Outgoing(f"{self.number}", delay_seconds=delay))
        self.house.send(self.name, *messages)

    def produce(self) -> None:
        now_ms = self.now_ms
        group, given = self.random.choice((None, b"a")), b"kafka %d" % self.random.randrange(9)
        headers = ((DEDUPLICATION, given),) if self.fifo else ()
        batch = build_batch([Record(group, b"of Kafka", headers, now_ms)])
        self.house.run(self.partition.data.append(batch))

    def receive(self) -> None:
        visibility_ms = self.random.choice((0, 1_000, 30_000, 600_000))
        attempt = self.random.choice((None, "x", "y")) if self.fifo else None
        count = self.random.randrange(1, 8)
        found = self.house.receive(self.name, count, visibility_ms=visibility_ms, attempt=attempt)
        self.receipts += [each.receipt_handle for each in found]

    def delete(self) -> None:
        if self.receipts:
            count = min(len(self.receipts), self.random.randrange(1, 5))
            self.house.delete(self.name, *self.random.sample(self.receipts, count))

    def change_visibility(self) -> None:
        if self.receipts:
            handle = self.random.choice(self.receipts)
            self.house.change_visibility(self.name, handle, self.random.choice((0, 5_000, 90_000)))

    def pass_time(self) -> None:
        self.house.advance(self.random.choice((1, 700, 4_000, 50_000, DEDUPLICATION_MS // 3)))

    def replay(self) -> None:
        now_ms = self.now_ms
        self.house.run(self.house.queues.replay(self.name, now_ms - 20_000, now_ms))

    def purge(self) -> None:
        if self.random.random() < 0.3:
            self.house.run(self.house.queues.purge_all(self.queue))

    def snapshot(self) -> None:
        if not self.partition.is_unsettled:
            self.house.run(_save(self.house))
            self.house.settle()

    def restart(self) -> None:
        getattr(self.house, self.random.choice(("kill", "crash", "restart")))()

    def opened(self) -> QueuePartition:
        return opened(self.house.queues, self.name)

    def read(self, partition: QueuePartition) -> Iterator[None]:
        return reading(self.house.queues, self.name, partition)


async def _save(house: QueueHouse) -> None:
    for partition in [each for each in house.queues._of if each.journal is not None]:
        house.queues._upkeep.save(partition)
    await house.queues._upkeep.stop()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("seed", range(3))
def test_every_short_cut_leads_to_what_reading_everything_leads_to(
    house: QueueHouse, kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "PIECE_BYTES", 300)
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 400_000)
    life = Life(house, kind, seed)
    kept = KeptStates(house.clock, lambda partition: True)
    key = (b"", 0)
    is_kept = False
    for number in range(STEPS):
        life.step()
        if life.partition.is_unsettled or number % 4:
            continue
        onward = life.opened()
        house.run(_take(kept, key, onward))
        expected = read_fully(house.queues, life.name, monkeypatch)
        by_snapshot = life.opened()
        at_once(life.read(by_snapshot))
        assert known(by_snapshot, life.now_ms) == expected
        steps = life.read(onward)
        for _ in range(life.random.randrange(60)):
            if next(steps, StopIteration) is StopIteration:
                assert known(onward, life.now_ms) == expected
        steps.close()
        house.run(_keep(kept, key, onward))
        is_kept = is_kept or bool(len(kept))
    kept.stop()
    assert is_kept


async def _keep(kept: KeptStates, key: tuple[bytes, int], partition: QueuePartition) -> None:
    kept.keep(key, partition)


async def _take(kept: KeptStates, key: tuple[bytes, int], partition: QueuePartition) -> None:
    kept.take(key, partition)
