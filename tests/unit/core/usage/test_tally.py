from array import array

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.slots import Place
from duolog.core.usage.tally import UNMETERED, PartitionTally, Tally

KEY = UsageKey("1", "topic", "orders", "produce")


class Places:
    def __init__(self) -> None:
        self.words = memoryview(array("q", bytes(8 * 16)))
        self.attached = 0
        self.expected: list[int] = []

    def attach(self, tally: Tally) -> Place:
        self.attached += 1
        return self.words, 8

    def attach_mark(self, tally: PartitionTally, end_offset: int) -> Place:
        self.expected.append(end_offset)
        return self.words, 0


def test_a_tally_takes_its_place_when_it_is_first_used_in_an_interval() -> None:
    places = Places()
    tally = Tally(places, KEY)
    assert places.attached == 0
    tally.count(3, 30)
    tally.count(0, 0)
    assert places.attached == 1
    tally.detach()
    tally.fail(2)
    assert places.attached == 2
    tally.add_messages(5)
    tally.store(100, 1_000)
    assert list(places.words[8:13]) == [3, 8, 130, 1_000, 2]


def test_how_far_a_partition_is_counted_is_noted_with_the_count() -> None:
    places = Places()
    tally = PartitionTally(places, KEY, b"i" * 16, 0)
    tally.expect(10)
    tally.expect(11)
    assert places.expected == [10]
    tally.appended(2, 5, 500, 15)
    assert list(places.words[8:13]) == [2, 5, 500, 0, 0]
    assert places.words[0] == 15


def test_what_is_not_metered_counts_for_nothing() -> None:
    UNMETERED.expect(1)
    UNMETERED.appended(1, 1, 1, 2)
    UNMETERED.count(1, 1)
    UNMETERED.fail()
