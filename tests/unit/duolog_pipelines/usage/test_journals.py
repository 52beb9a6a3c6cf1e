"""Which sequences were taken, and which are missing."""

from hypothesis import given
from hypothesis import strategies as st

from duolog_pipelines.usage.journals import Journal, JournalName, Journals, gaps_sentence

NAME = JournalName(1, "ab")
sequences = st.sets(st.integers(0, 40))


def with_runs(*numbers: int) -> Journal:
    journal = Journal()
    for number in numbers:
        journal.take(number, 0, 1)
    return journal


@given(sequences, st.randoms())
def test_runs_are_the_same_in_whatever_order_sequences_come(numbers: set[int], rng: object) -> None:
    shuffled = sorted(numbers)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    journal = with_runs(*shuffled, *shuffled)
    assert journal.runs == with_runs(*sorted(numbers)).runs
    assert {n for run in journal.runs for n in range(run.first, run.last + 1)} == numbers
    assert all(a.last + 1 < b.first for a, b in zip(journal.runs, journal.runs[1:], strict=False))
    assert journal.end == next(n for n in range(50) if n not in numbers)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2))))
def test_a_sheet_is_taken_once(sheets: list[tuple[int, int]]) -> None:
    journal, seen = Journal(), set()
    for sequence, part in sheets:
        assert journal.take(sequence, part, 3) == ((sequence, part) not in seen)
        seen.add((sequence, part))
    whole = {number for number in range(9) if {(number, part) for part in range(3)} <= seen}
    assert {n for run in journal.runs for n in range(run.first, run.last + 1)} == whole
    assert set(journal.parts) == {number for number, _ in seen} - whole


def test_missing_sequences_are_named_up_to_the_last_that_is_there() -> None:
    assert with_runs(0, 1, 2).gaps() == []
    assert with_runs(2, 3, 5, 9).gaps() == ["sequences 0 to 1", "sequence 4", "sequences 6 to 8"]


def test_missing_parts_are_named_and_a_sequence_that_gets_them_is_whole() -> None:
    journal = with_runs(0)
    assert journal.take(1, 1, 3)
    assert journal.gaps() == ["parts 0, 2 of the 3 of sequence 1"]
    assert (journal.take(1, 0, 3), journal.take(1, 2, 3)) == (True, True)
    assert (journal.gaps(), journal.end, journal.parts) == ([], 2, {})
    assert not journal.take(1, 1, 3)


def test_journals_survive_being_written_down() -> None:
    journals = Journals()
    for number in range(8):
        journals[NAME].take(number, 0, 1)
    journals[NAME].take(9, 0, 2)
    journals[JournalName(2, "cd")].take(1, 0, 1)
    assert Journals.from_json(journals.to_json()).items() == journals.items()
    assert journals.end_of(NAME) == 8
    assert journals.end_of(JournalName(3, "unknown")) == 0


def test_an_error_names_the_journal_and_stays_readable() -> None:
    journals = Journals()
    for number in range(1, 100, 2):
        journals[NAME].take(number, 0, 1)
    told = gaps_sentence(journals.gaps())
    assert told.startswith("journal ab of node 1 lacks sequence 0; ")
    assert told.endswith("; and 30 more")
