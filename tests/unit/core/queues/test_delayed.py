from duolog.core.queues.delayed import STALE_OFFSETS_MIN, Delayed


def test_messages_are_due_at_their_time() -> None:
    delayed = Delayed()
    delayed.append(0, 5, 300)
    delayed.append(5, 10, 100)
    assert delayed.next_ms() == 100
    assert delayed.pop_due(99) == []
    assert delayed.pop_due(100) == [(5, 10)]
    assert delayed.count == 5
    assert delayed.pop_due(300) == [(0, 5)]
    assert delayed.next_ms() is None


def test_messages_in_a_row_with_one_due_time_cost_as_much_as_one() -> None:
    delayed = Delayed()
    for offset in range(1_000):
        delayed.append(offset, offset + 1, 100)
    assert delayed._due_at == {100: [0, 1_000]}


def test_what_went_before_its_time_is_not_due() -> None:
    delayed = Delayed()
    delayed.append(0, 10, 100)
    delayed.append(10, 12, 200)
    assert delayed.discard(3)
    assert not delayed.discard(3)
    assert delayed.remove_below(2) == 2
    assert delayed.pop_due(100) == [(2, 3), (4, 10)]
    delayed.discard(10)
    delayed.discard(11)
    assert delayed.next_ms() is None


def test_an_offset_that_is_given_anew_has_the_delay_of_the_new_message() -> None:
    delayed = Delayed()
    delayed.append(0, 10, 100)
    assert delayed.truncate(5) == 5
    delayed.append(5, 6, 300)
    assert delayed.pop_due(100) == [(0, 5)]
    assert delayed.next_ms() == 300


def test_what_is_removed_early_leaves_nothing_behind() -> None:
    delayed = Delayed()
    for offset in range(10_000):
        delayed.append(offset, offset + 1, 1_000_000 + offset)
        delayed.discard(offset - 10)
    assert len(delayed._due_at) <= 10 + STALE_OFFSETS_MIN + 1


def test_what_is_too_much_for_one_turn_stays_due() -> None:
    delayed = Delayed()
    delayed.append(0, 5, 100)
    delayed.append(7, 9, 100)
    delayed.append(9, 12, 200)
    assert delayed.discard(4)
    assert delayed.pop_due(300, 2) == [(0, 2)]
    assert delayed.next_ms() == delayed.soonest_ms == 100
    assert delayed.count == 7
    assert [delayed.pop_due(300, 4) for _ in range(3)] == [[(2, 4), (7, 8)], [(8, 9), (9, 12)], []]
    assert delayed.next_ms() is None
