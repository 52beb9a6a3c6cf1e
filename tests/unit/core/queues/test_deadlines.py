from msgspec.structs import replace

from duolog.core.queues.deadlines import NEVER_MS, STALE_ENTRIES_MIN, Deadlines
from duolog.core.queues.held import Held


def hold(held: dict[int, Held], deadlines: Deadlines, offset: int, deadline_ms: int) -> None:
    held[offset] = Held(deadline_ms, 0, 0, None, b"")
    deadlines.add(deadline_ms, [offset])


def test_messages_come_due_by_deadline() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    for offset, deadline_ms in enumerate([300, 100, 200, 100]):
        hold(held, deadlines, offset, deadline_ms)
    assert deadlines.next_ms() == 100
    assert [offset for offset, _ in deadlines.pop_due(200)] == [1, 3, 2]
    assert deadlines.next_ms() == 300


def test_what_was_settled_or_put_off_does_not_come_due() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    for offset in range(3):
        hold(held, deadlines, offset, 100)
    del held[0]
    hold(held, deadlines, 1, 500)
    held[2] = replace(held[2], is_in_flight=False)
    assert deadlines.next_ms() == 500
    assert list(deadlines.pop_due(100)) == []


def test_nothing_is_left_of_an_empty_queue() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    hold(held, deadlines, 0, 100)
    held.clear()
    assert deadlines.next_ms() is None
    assert deadlines.soonest_ms == NEVER_MS


def test_stale_entries_are_swept_out_before_they_are_many() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    for offset in range(100_000):
        hold(held, deadlines, offset, 1_000_000 + offset)
        held.pop(offset - 10, None)
    entries = sum(map(len, deadlines._offsets_at.values()))
    assert entries <= 2 * len(held) + STALE_ENTRIES_MIN
    assert deadlines.next_ms() == 1_000_000 + 99_990


def test_what_is_too_much_for_one_turn_stays_due() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    for offset in range(7):
        hold(held, deadlines, offset, 100 + offset // 5)
    popped = [[offset for offset, _ in deadlines.pop_due(200, 3)] for _ in range(3)]
    assert popped == [[0, 1, 2], [3, 4, 5], [6]]
    assert deadlines.soonest_ms == NEVER_MS


def test_what_stays_due_is_still_due_at_its_time() -> None:
    held: dict[int, Held] = {}
    deadlines = Deadlines(held)
    for offset in range(4):
        hold(held, deadlines, offset, 100)
    assert [offset for offset, _ in deadlines.pop_due(100, 2)] == [0, 1]
    assert deadlines.next_ms() == deadlines.soonest_ms == 100
    hold(held, deadlines, 2, 500)
    assert [offset for offset, _ in deadlines.pop_due(100, 2)] == [3]
    assert deadlines.next_ms() == 500
