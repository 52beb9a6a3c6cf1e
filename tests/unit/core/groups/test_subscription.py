from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.group_driver import subscription

from duolog.core.groups.subscription import (
    all_subscribed_topics,
    same_subscription,
    subscribed_topics,
)


def test_topics_are_read() -> None:
    assert subscribed_topics(subscription("a", "b")) == {"a", "b"}
    assert subscribed_topics(subscription()) == frozenset()


@given(st.binary(max_size=40))
def test_any_bytes_are_a_subscription_or_none(metadata: bytes) -> None:
    subscribed_topics(metadata)


def test_one_unreadable_member_makes_the_whole_unknown() -> None:
    assert all_subscribed_topics([subscription("a"), subscription("b")]) == {"a", "b"}
    assert all_subscribed_topics([subscription("a"), b"?"]) is None


def test_only_a_consumers_topics_are_compared() -> None:
    before, after = subscription("a", user_data=b"1"), subscription("a", user_data=b"2")
    assert same_subscription("consumer", before, after)
    assert not same_subscription("connect", before, after)
    assert same_subscription("connect", before, before)
    assert not same_subscription("consumer", before, subscription("b"))
    assert not same_subscription("consumer", b"x", b"y")
