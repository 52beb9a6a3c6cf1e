from duolog.core.usage.keys import OTHER, Counts, UsageKey
from duolog.core.usage.totals import KEYS_MAX, Totals


def key_of(resource: str) -> UsageKey:
    return UsageKey("1", "queue", resource, "send")


def test_counts_of_a_key_are_added_up() -> None:
    sums = Totals([(key_of("a"), Counts(1, 2, 3, 4, 5))])
    copy = sums.copy()
    sums.add([(key_of("a"), Counts(10, 20, 30, 40, 50)), (key_of("b"), Counts(1))])
    assert dict(sums) == {key_of("a"): Counts(11, 22, 33, 44, 55), key_of("b"): Counts(1)}
    assert dict(copy) == {key_of("a"): Counts(1, 2, 3, 4, 5)}


def test_what_comes_when_there_are_too_many_keys_is_added_together() -> None:
    sums = Totals((key_of(f"q{number}"), Counts(1)) for number in range(KEYS_MAX + 10))
    assert len(sums) == KEYS_MAX + 1
    assert dict(sums)[key_of(OTHER)] == Counts(10)
