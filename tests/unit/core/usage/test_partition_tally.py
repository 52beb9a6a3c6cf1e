"""What is appended is counted by what the log says, and nothing that came another way."""

from array import array

import pytest

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.partition_tally import NO_EPOCH, UNMETERED_PARTITION, PartitionTally
from duolog.core.usage.slots import EPOCH, MARK, WORDS, Mark, Place

KEY = UsageKey("1", "topic", "orders", "produce")


class Partition:
    batches_in = 7
    bytes_in = 700
    end_offset = 70
    leader_epoch = 3
    leads = True

    def append(self, batches: int, messages: int, size: int) -> None:
        self.batches_in += batches
        self.end_offset += messages
        self.bytes_in += size


class Places:
    def __init__(self, *, has_room: bool = True) -> None:
        self.words = memoryview(array("q", bytes(8 * WORDS)))
        self.has_room = has_room

    def attach_partition(
        self, tally: PartitionTally, end_offset: int, leader_epoch: int
    ) -> tuple[Place, bool]:
        if self.has_room:
            self.words[MARK], self.words[EPOCH] = end_offset, leader_epoch
        return (self.words, 0), self.has_room

    @property
    def counted(self) -> tuple[int, int, int, int]:
        """Requests, messages, bytes, errors."""
        requests, messages, size, _, errors = self.words[:5]
        return requests, messages, size, errors

    @property
    def mark(self) -> tuple[int, int]:
        return self.words[MARK], self.words[EPOCH]


class Bench:
    def __init__(self, *, has_room: bool = True) -> None:
        self.places = Places(has_room=has_room)
        self.partition = Partition()
        self.tally = PartitionTally(self.places, KEY, b"i" * 16, 0, self.partition)

    def produce(self, batches: int, messages: int, size: int) -> None:
        if self.tally.cells is None:
            self.tally.expect()
        self.partition.append(batches, messages, size)


@pytest.fixture(params=[True, False], ids=["marked", "together"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(has_room=request.param)


def test_what_is_appended_is_counted_when_the_interval_ends(bench: Bench) -> None:
    bench.produce(1, 2, 20)
    bench.produce(2, 5, 50)
    bench.tally.fold()
    assert bench.places.counted == (3, 7, 70, 0)
    bench.produce(1, 1, 10)
    bench.tally.detach()
    assert bench.places.counted == (4, 8, 80, 0)
    bench.partition.append(1, 1, 10)
    bench.tally.detach()
    assert bench.places.counted == (4, 8, 80, 0), "nobody expected it"


def test_the_mark_is_where_a_count_is_certain() -> None:
    bench = Bench()
    bench.produce(1, 2, 20)
    assert bench.places.counted == (0, 0, 0, 0)
    assert bench.places.mark == (70, 3)
    bench.tally.fold()
    assert bench.places.counted == (1, 2, 20, 0)
    assert bench.places.mark == (72, 3)
    bench.tally.detach()
    assert bench.places.mark == (72, NO_EPOCH)


def test_what_comes_by_another_door_is_not_counted(bench: Bench) -> None:
    bench.produce(1, 2, 20)
    bench.tally.skip(72 + 5, 500)
    if bench.places.has_room:
        assert bench.places.mark == (77, 3)
    bench.partition.append(1, 5, 500)
    bench.produce(1, 1, 10)
    bench.tally.fold()
    assert bench.places.counted == (2, 3, 30, 0)
    bench.tally.skip(78 + 5, 500)
    bench.tally.unskip(500)
    bench.produce(1, 1, 10)
    bench.tally.fold()
    assert bench.places.counted == (3, 4, 40, 0)


def test_what_could_not_be_written_is_not_counted(bench: Bench) -> None:
    bench.produce(1, 2, 20)
    bench.produce(3, 0, 300)
    bench.tally.discount(3, 300)
    bench.tally.fail(requests=0)
    bench.tally.fold()
    assert bench.places.counted == (1, 2, 20, 1)


def test_what_is_copied_from_another_leader_is_not_counted(bench: Bench) -> None:
    bench.partition.leads = False
    bench.tally.fail()
    bench.produce(1, 2, 20)
    bench.tally.detach()
    assert bench.places.counted == (1, 0, 0, 1)
    if bench.places.has_room:
        assert bench.places.mark == (70, NO_EPOCH)


def test_the_last_process_s_records_are_counted_once() -> None:
    bench = Bench()
    bench.tally.recount(Mark(60, 2), 2, 10, 100)
    assert bench.places.counted == (2, 10, 100, 0)
    assert bench.places.mark == (70, NO_EPOCH)
    bench.produce(1, 2, 20)
    bench.tally.fold()
    assert bench.places.counted == (3, 12, 120, 0)


def test_what_is_not_metered_counts_for_nothing() -> None:
    UNMETERED_PARTITION.expect()
    UNMETERED_PARTITION.fail()
    UNMETERED_PARTITION.detach()
