from array import array

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.slots import Place
from duolog.core.usage.tally import UNMETERED, Tally

KEY = UsageKey("1", "queue", "orders", "send")


class Places:
    def __init__(self) -> None:
        self.words = memoryview(array("q", bytes(8 * 16)))
        self.attached = 0

    def attach(self, tally: Tally) -> Place:
        self.attached += 1
        return self.words, 8


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


def test_what_is_not_metered_counts_for_nothing() -> None:
    UNMETERED.count(1, 1)
    UNMETERED.fail()
