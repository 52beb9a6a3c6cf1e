from duolog.broker.groups.deadlines import Deadlines


def test_the_earliest_is_first_and_each_is_due_once() -> None:
    deadlines = Deadlines()
    deadlines.set("late", 30)
    deadlines.set("soon", 10)
    assert deadlines.first_ms() == 10
    assert list(deadlines.take_due(9)) == []
    assert list(deadlines.take_due(30)) == ["soon", "late"]
    assert deadlines.first_ms() is None


def test_only_the_last_deadline_of_a_group_counts() -> None:
    deadlines = Deadlines()
    for at_ms in (30, 10, 20):
        deadlines.set("g", at_ms)
    assert list(deadlines.take_due(15)) == []
    assert list(deadlines.take_due(40)) == ["g"]


def test_a_cleared_group_is_never_due() -> None:
    deadlines = Deadlines()
    deadlines.set("g", 10)
    deadlines.clear("g")
    assert deadlines.first_ms() is None


def test_moving_deadlines_do_not_pile_up() -> None:
    deadlines = Deadlines()
    deadlines.set("still", 0)
    for at_ms in range(100_000, 0, -1):
        deadlines.set("g", at_ms)
    assert len(deadlines._heap) < 2_000
