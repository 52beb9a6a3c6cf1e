"""The oracle of queues notices what is wrong, and nothing else."""

import pytest

from duolog.sim.oracle.queues import Delivered, QueueOracle
from duolog.sim.oracle.verdict import Verdict

MS = 1_000_000
HIDDEN_NS = 100 * MS


class Clock:
    def __init__(self):
        self.now_ns = 0
        self.agrees = True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def verdict():
    return Verdict(lambda: 0)


@pytest.fixture
def new_oracle(verdict, clock):
    """Makes that of a queue with two messages of a group."""

    def new(*, is_fifo=True, receives_max=None):
        made = QueueOracle(
            verdict,
            "q",
            lambda: clock.now_ns,
            lambda: clock.agrees,
            is_fifo=is_fifo,
            receives_max=receives_max,
        )
        for number in range(2):
            made.attempted(f"g:{number}", "g")
            made.sent(f"g:{number}", f"id-{number}")
        return made

    return new


@pytest.fixture
def oracle(new_oracle):
    """Of a FIFO queue."""
    return new_oracle()


@pytest.fixture
def receive(clock):
    def receive(oracle, *numbers, receives=1, asked_ns=None, is_dead=False):
        clock.now_ns += 10 * MS
        found = [Delivered(f"g:{n}", f"id-{n}", receives, is_dead) for n in numbers]
        asked_ns = clock.now_ns - 5 * MS if asked_ns is None else asked_ns
        oracle.received(found, asked_ns, HIDDEN_NS)

    return receive


@pytest.fixture
def delete(clock):
    def delete(oracle, number, receives=1, *, is_dead=False):
        clock.now_ns += 10 * MS
        oracle.deleting(f"g:{number}", receives, is_dead=is_dead)
        oracle.deleted(f"g:{number}", receives, is_dead=is_dead)

    return delete


def rules(verdict):
    return [violation.strip().split(" ", 1)[1].split(":")[0] for violation in verdict.violations]


def test_everything_received_and_deleted_in_order_is_fine(oracle, verdict, receive, delete):
    receive(oracle, 0, 1)
    delete(oracle, 0)
    delete(oracle, 1)
    oracle.finish()
    assert verdict.violations == []


def test_a_message_that_is_gone_is_noticed(oracle, verdict, receive, delete):
    receive(oracle, 0)
    delete(oracle, 0)
    oracle.finish()
    assert rules(verdict) == ["nothing acknowledged is lost"]


def test_a_message_that_nobody_sent_is_noticed(oracle, verdict):
    oracle.received([Delivered("other", "id", 1)], 10, HIDDEN_NS)
    assert rules(verdict) == ["no inventions"]


def test_a_deleted_message_that_comes_back_is_noticed(oracle, verdict, clock, receive, delete):
    receive(oracle, 0)
    clock.now_ns = 200 * MS
    delete(oracle, 0)
    receive(oracle, 0, receives=2, asked_ns=205 * MS)
    assert verdict.violations == [], "that receive was under way"
    clock.now_ns = 400 * MS
    receive(oracle, 0, receives=3)
    assert rules(verdict) == ["deleted messages stay deleted"]


def test_a_late_deletion_in_a_standard_queue_promises_nothing(new_oracle, verdict, clock, delete):
    oracle = new_oracle(is_fifo=False)
    oracle.received([Delivered("g:0", "id-0", 1)], 0, HIDDEN_NS)
    clock.now_ns = 200 * MS
    delete(oracle, 0)
    oracle.received([Delivered("g:0", "id-0", 3)], 300 * MS, HIDDEN_NS)
    assert verdict.violations == [], "somebody may have had it as the second delivery before"
    oracle.received([Delivered("g:1", "id-1", 1)], 300 * MS, HIDDEN_NS)
    clock.now_ns = 500 * MS
    delete(oracle, 1)
    oracle.received([Delivered("g:1", "id-1", 2)], 600 * MS, HIDDEN_NS)
    assert rules(verdict) == ["deleted messages stay deleted"]


def test_a_message_before_its_turn_is_noticed(oracle, verdict, receive):
    receive(oracle, 1)
    assert rules(verdict) == ["order of groups"]


def test_messages_that_come_together_in_the_wrong_order_are_noticed(oracle, verdict, receive):
    receive(oracle, 1, 0)
    assert rules(verdict) == ["order of groups"]


def test_a_message_that_is_there_twice_is_noticed(oracle, verdict):
    oracle.received([Delivered("g:0", "another", 1)], 10, HIDDEN_NS)
    assert rules(verdict) == ["deduplication"]


def test_a_message_that_gets_another_id_when_it_is_sent_again_is_noticed(oracle, verdict):
    oracle.sent("g:0", "id-0")
    assert verdict.violations == []
    oracle.sent("g:0", "another")
    assert rules(verdict) == ["deduplication"]


def test_a_deletion_with_a_stale_receipt_does_not_count(oracle, clock, receive):
    receive(oracle, 0)
    clock.now_ns = 200 * MS
    receive(oracle, 0, receives=2)
    assert not oracle.deleting("g:0", 1)
    assert oracle.left == ["g:0", "g:1"]


def test_a_receive_count_that_goes_back_is_noticed(oracle, verdict, clock, receive):
    receive(oracle, 0, receives=2)
    clock.now_ns = 200 * MS
    receive(oracle, 0, receives=1)
    assert rules(verdict) == ["receive counts rise"]


def test_a_message_that_two_have_at_once_is_noticed(oracle, verdict, clock, receive):
    receive(oracle, 0)
    clock.agrees = False
    receive(oracle, 0, receives=2)
    assert verdict.violations == [], "by another clock its time may be over"
    clock.agrees = True
    receive(oracle, 0, receives=3)
    assert rules(verdict) == ["hidden messages"]


def test_a_message_that_was_returned_may_come_at_once(oracle, verdict, clock, receive):
    receive(oracle, 0)
    oracle.hiding("g:0", 1, clock.now_ns, is_dead=False)
    receive(oracle, 0, receives=2)
    assert verdict.violations == []


def test_a_delayed_message_before_its_time_is_noticed(oracle, verdict, clock):
    oracle.attempted("h:0", "h", 50 * MS)
    clock.now_ns = 48 * MS
    oracle.received([Delivered("h:0", "id", 1)], 40 * MS, HIDDEN_NS)
    assert rules(verdict) == ["hidden messages"]


def test_what_comes_after_a_dead_letter_is_in_order(new_oracle, verdict, receive, delete):
    oracle = new_oracle(receives_max=1)
    receive(oracle, 0)
    receive(oracle, 1)
    delete(oracle, 1)
    receive(oracle, 0, is_dead=True)
    delete(oracle, 0, is_dead=True)
    oracle.finish()
    assert verdict.violations == []
    assert oracle.dead_count == 1


def test_what_was_passed_over_and_is_not_dead_is_noticed(new_oracle, verdict, receive, delete):
    oracle = new_oracle(receives_max=3)
    receive(oracle, 1)
    delete(oracle, 1)
    receive(oracle, 0)
    delete(oracle, 0)
    oracle.finish()
    assert rules(verdict) == ["order of groups", "order of groups"]


def test_a_dead_letter_that_comes_to_life_is_noticed(new_oracle, verdict, clock, receive):
    oracle = new_oracle(is_fifo=False, receives_max=2)
    receive(oracle, 0)
    receive(oracle, 0, is_dead=True)
    clock.now_ns = 500 * MS
    receive(oracle, 0, receives=3)
    assert rules(verdict) == ["dead letters", "dead letters"]
