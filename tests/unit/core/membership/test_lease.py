import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.core.membership.lease import Lease, Step

TTL = 2_000


@pytest.fixture
def lease() -> Lease:
    lease = Lease(TTL)
    lease.registered(sent_ms=1_000)
    assert lease.step(1_000) is Step.RESUME
    return lease


def test_a_node_that_has_no_lease_registers() -> None:
    assert Lease(TTL).step(0) is Step.REGISTER


def test_a_lease_is_renewed_every_third_of_its_time(lease: Lease) -> None:
    assert lease.step(1_665) is Step.WAIT
    assert lease.step(1_666) is Step.RENEW
    lease.renewal_sent(1_666)
    assert lease.step(1_666) is Step.WAIT
    assert lease.renew_at_ms == 1_666 + 666


def test_a_renewal_that_failed_is_repeated_sooner(lease: Lease) -> None:
    lease.renewal_sent(1_666)
    lease.renewal_failed(1_800)
    assert lease.step(1_800) is Step.RENEW


def test_rule_03_a_node_that_cannot_renew_stops_before_its_lease_ends(lease: Lease) -> None:
    lease.renewal_sent(1_700)
    assert lease.step(2_300) is Step.WAIT
    assert lease.step(2_600) is Step.SUSPEND
    assert not lease.is_serving


def test_rule_03_time_counts_from_when_the_renewal_was_sent(lease: Lease) -> None:
    """The store may have begun to count at once and answered only now."""
    lease.renewal_sent(1_700)
    lease.renewed(sent_ms=1_700)
    assert lease.serve_until_ms == 1_700 + TTL - TTL // 5


def test_an_answer_that_comes_late_takes_nothing_back(lease: Lease) -> None:
    lease.renewed(sent_ms=1_900)
    lease.renewed(sent_ms=1_700)
    assert lease.serve_until_ms == 1_900 + TTL - TTL // 5


def test_a_node_that_stopped_serves_again_once_it_is_known_that_the_lease_lived(
    lease: Lease,
) -> None:
    assert lease.step(2_600) is Step.SUSPEND
    assert lease.step(2_600) is Step.RENEW
    lease.renewal_sent(2_600)
    lease.renewed(sent_ms=2_600)
    assert lease.step(2_650) is Step.RESUME


def test_a_lost_lease_stops_the_node_at_once_and_makes_it_register(lease: Lease) -> None:
    lease.lost()
    assert lease.step(1_001) is Step.SUSPEND
    assert lease.step(1_001) is Step.REGISTER
    lease.registered(sent_ms=1_500)
    assert lease.step(1_600) is Step.RESUME


@given(st.lists(st.tuples(st.integers(0, 1_500), st.integers(0, 1_500), st.booleans())))
def test_rule_03_a_node_never_serves_longer_than_any_store_could_think(
    renewals: list[tuple[int, int, bool]],
) -> None:
    """Whatever is lost or late: when the store's lease has ended, this node has stopped."""
    lease = Lease(TTL)
    lease.registered(sent_ms=0)
    now, ends_ms = 0, TTL
    for pause, delay, is_answered in renewals:
        now += pause
        while (step := lease.step(now)) in (Step.SUSPEND, Step.RESUME):
            pass
        assert not lease.is_serving or now < ends_ms
        if step is Step.RENEW and now < ends_ms:
            lease.renewal_sent(now)
            # The earliest moment at which the store can have begun to count.
            sent, ends_ms = now, now + TTL
            now += delay
            if is_answered:
                lease.renewed(sent)
            else:
                ends_ms = max(ends_ms, lease.serve_until_ms)
