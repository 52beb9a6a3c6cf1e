"""How many pushes a node has under way, and who gets the next."""

import asyncio

from duolog.broker.queues.push.slots import PushSlots


def nobody() -> None:
    raise AssertionError("nobody has to wait")


def test_never_more_are_taken_than_there_are() -> None:
    slots = PushSlots(5)
    assert slots.take(3, nobody) == 3
    assert slots.take(3, nobody) == 2
    assert slots.taken == 5


def test_who_waited_longest_is_woken_first_and_as_many_as_there_is_room_for() -> None:
    slots = PushSlots(2)
    slots.take(2, nobody)
    woken: list[str] = []

    def wait(name: str) -> None:
        def wake() -> None:
            woken.append(name)
            slots.take(1, wake)

        assert slots.take(1, wake) == 0

    for name in ("first", "second", "third"):
        wait(name)
    slots.give_back(1)
    assert woken == ["first"]
    slots.give_back(1)
    assert woken == ["first", "second"]


def test_who_is_woken_in_vain_lets_the_next_have_it() -> None:
    slots = PushSlots(1)
    slots.take(1, nobody)
    woken = 0

    def make_idle() -> None:
        def wake() -> None:
            nonlocal woken
            woken += 1
            slots.give_back(slots.take(1, wake))

        slots.take(1, wake)

    # So many that a recursion would not survive it.
    for _ in range(5_000):
        make_idle()
    slots.give_back(1)
    assert woken == 5_000


def test_who_has_gone_is_not_woken() -> None:
    slots = PushSlots(1)
    slots.take(1, nobody)
    slots.take(1, nobody)
    slots.forget(nobody)
    slots.give_back(1)
    assert slots.taken == 0


async def test_one_can_wait_until_all_are_back() -> None:
    slots = PushSlots(2)
    await slots.all_back()
    slots.take(2, nobody)
    waiting = asyncio.ensure_future(slots.all_back())
    await asyncio.sleep(0)
    slots.give_back(1)
    await asyncio.sleep(0)
    assert not waiting.done()
    slots.give_back(1)
    await waiting
