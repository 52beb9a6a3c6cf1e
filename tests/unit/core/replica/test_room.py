from duolog.core.replica.companions import Standing, plan_in_sync
from duolog.core.replica.leadership import Leadership
from duolog.core.replica.room import admissible_with_room, has_enough_room, takes_messages
from duolog.model.partition_state import PartitionState

LAG_MS_MAX = 10_000


def test_full_members_can_leave_while_enough_with_room_remain() -> None:
    assert has_enough_room((1, 2, 3), {1}, 2)
    assert not has_enough_room((1, 2), {1}, 2)
    assert has_enough_room((1, 2), {1}, 1)


def test_messages_are_refused_only_where_a_full_member_cannot_leave() -> None:
    assert takes_messages((1, 2, 3), (), 2)
    assert takes_messages((1, 2, 3), {3}, 2)
    assert takes_messages((1, 2), {3}, 2), "node 3 is not waited for"
    assert not takes_messages((1, 2), {2}, 2)
    assert not takes_messages((1, 2, 3), {1, 3}, 2)


def test_a_full_replica_enters_only_a_set_that_is_too_small_without_it() -> None:
    assert admissible_with_room((2, 3), (1,), {2, 3}, 2) == (2, 3)
    assert admissible_with_room((3,), (1, 2), {3}, 2) == ()
    assert admissible_with_room((2, 3), (1,), {3}, 1) == (2,)


def leading(in_sync: tuple[int, ...], min_in_sync: int) -> Leadership:
    state = PartitionState(1, 0, (1, 2, 3), in_sync)
    return Leadership(
        1, state, end_offset=0, min_in_sync=min_in_sync, lag_ms_max=LAG_MS_MAX, now_ms=0
    )


def planned(of_it: Leadership, *, end_offset: int, now_ms: int, full: set[int]) -> tuple[int, ...]:
    heard = dict.fromkeys((2, 3), now_ms)
    (in_sync,) = plan_in_sync([Standing(of_it, end_offset, 0)], now_ms, heard, full)
    return in_sync


def test_a_full_member_that_is_behind_stays_where_the_set_would_fall_short() -> None:
    """What it was sent before its leader knew waits; its journals can be committed."""
    of_it = leading((1, 2), 2)
    of_it.fetched(2, 7, 4, 5, 0)
    late = LAG_MS_MAX + 1
    assert planned(of_it, end_offset=5, now_ms=late, full={2}) == (1, 2)
    assert planned(of_it, end_offset=5, now_ms=late, full=set()) == (1,)


def test_a_full_member_that_is_behind_leaves_a_set_that_is_large_enough() -> None:
    of_it = leading((1, 2, 3), 2)
    of_it.fetched(2, 7, 4, 5, 0)
    of_it.fetched(3, 7, 5, 5, LAG_MS_MAX)
    assert planned(of_it, end_offset=5, now_ms=LAG_MS_MAX + 1, full={2}) == (1, 3)


def test_a_full_member_that_gave_up_records_leaves_in_any_case() -> None:
    of_it = leading((1, 2), 2)
    of_it.fetched(2, 7, 5, 6, 0)
    of_it.fetched(2, 7, 4, 6, 0)
    assert planned(of_it, end_offset=6, now_ms=1, full={2}) == (1,)


def test_a_full_replica_that_has_everything_does_not_enter_again_at_once() -> None:
    """The controller has just taken it out."""
    of_it = leading((1, 2), 2)
    of_it.fetched(3, 7, 5, 5, 1)
    assert planned(of_it, end_offset=5, now_ms=1, full={3}) == (1, 2)
    assert planned(of_it, end_offset=5, now_ms=1, full=set()) == (1, 2, 3)
