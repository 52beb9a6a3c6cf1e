"""Which sequences were taken, and which are missing."""

from hypothesis import given
from hypothesis import strategies as st

from duolog_pipelines.usage.journals import Journal, JournalName, Journals, Run, gaps_sentence

NAME = JournalName(1, "ab")
sequences = st.sets(st.integers(0, 40))


def with_runs(*numbers: int) -> Journal:
    journal = Journal()
    for number in numbers:
        journal.add_run(Run(number, number))
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


@given(sequences, st.integers(0, 40), st.integers(0, 40))
def test_what_was_taken_before_is_told(numbers: set[int], one: int, other: int) -> None:
    run = Run(min(one, other), max(one, other))
    taken = with_runs(*numbers).taken_of(run)
    assert {n for each in taken for n in range(each.first, each.last + 1)} == {
        n for n in numbers if run.first <= n <= run.last
    }


def test_missing_sequences_are_named_up_to_the_last_that_is_there() -> None:
    assert with_runs(0, 1, 2).gaps() == []
    assert with_runs(2, 3, 5, 9).gaps() == ["sequences 0 to 1", "sequence 4", "sequences 6 to 8"]


def test_missing_lines_are_named_and_a_sequence_that_gets_them_is_whole() -> None:
    journal = with_runs(0)
    journal.add_part(1, 3, [1])
    assert journal.gaps() == ["lines 0, 2 of the 3 of sequence 1"]
    assert journal.taken_of(Run(0, 5)) == [Run(0, 0), Run(1, 1)]
    journal.add_part(1, 3, [0, 2])
    assert (journal.gaps(), journal.end, journal.parts) == ([], 2, {})


def test_lines_of_a_sequence_that_is_whole_change_nothing() -> None:
    journal = with_runs(0, 1)
    journal.add_part(1, 2, [0])
    assert journal.gaps() == []


def test_journals_survive_being_written_down() -> None:
    journals = Journals()
    journals[NAME].add_run(Run(0, 7))
    journals[NAME].add_part(9, 2, [0])
    journals[JournalName(2, "cd")].add_run(Run(1, 1))
    assert Journals.from_json(journals.to_json()).items() == journals.items()
    assert journals.end_of(NAME) == 8
    assert journals.end_of(JournalName(3, "unknown")) == 0


def test_an_error_names_the_journal_and_stays_readable() -> None:
    journals = Journals()
    for number in range(1, 100, 2):
        journals[NAME].add_run(Run(number, number))
    told = gaps_sentence(journals.gaps())
    assert told.startswith("journal ab of node 1 lacks sequence 0; ")
    assert told.endswith("; and 30 more")
