"""Which names queues and topics may have."""

import pytest

from duolog.model.names import (
    OFFSETS_TOPIC,
    check_queue_name,
    check_topic_name,
    is_internal,
    is_reserved,
    parse_queue_arn,
    queue_arn,
    queue_state_topic,
)
from duolog.model.queue_errors import InvalidParameterValue


@pytest.mark.parametrize("name", ["a", "orders", "A-b_9", "x" * 80, "a.fifo", "x" * 75 + ".fifo"])
def test_a_queue_may_have_every_name_that_sqs_allows(name: str) -> None:
    check_queue_name(name)
    check_topic_name(name)
    check_topic_name(queue_state_topic(name))


@pytest.mark.parametrize(
    "name", ["", "x" * 81, "a.b", "a b", "ä", "a\n", "a/b", ".fifo", "a.fifo.fifo", "a.FIFO"]
)
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidParameterValue, match="alphanumeric characters, hyphens, or unders"):
        check_queue_name(name)


def test_a_fifo_name_that_is_too_long_is_told_of_its_suffix() -> None:
    with pytest.raises(InvalidParameterValue, match=r"must end with \.fifo suffix"):
        check_queue_name("x" * 76 + ".fifo")


@pytest.mark.parametrize("name", [OFFSETS_TOPIC, "__queue_orders", "__transaction_state"])
def test_a_queue_cannot_take_the_place_of_the_systems_topics(name: str) -> None:
    with pytest.raises(InvalidParameterValue, match="is reserved for the system"):
        check_queue_name(name)


def test_the_topic_of_a_queues_state_is_internal_and_its_lookalikes_are_reserved() -> None:
    assert is_internal(queue_state_topic("orders"))
    assert not is_internal("__queue_orders")
    assert all(is_reserved(name) for name in ("__queue.a", "__queue_a", "._queue.a"))
    assert not is_reserved("__queues")
    assert not is_reserved("queue.a")


def test_an_arn_is_read_back_as_it_was_written() -> None:
    arn = queue_arn("orders.fifo", "eu-west-1", "123456789012")
    assert arn == "arn:aws:sqs:eu-west-1:123456789012:orders.fifo"
    assert parse_queue_arn(arn) == "orders.fifo"


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "orders",
        "arn:aws:sns:us-east-1:000000000000:orders",
        "arn:aws:sqs:us-east-1:000000000000:",
        "arn:aws:sqs:us-east-1:1:orders",
        "arn:aws:sqs:us-east-1:000000000000:a:b",
        "arn:aws:sqs:us-east-1:000000000000:orders\n",
    ],
)
def test_what_is_no_arn_of_a_queue_is_refused(arn: str) -> None:
    with pytest.raises(InvalidParameterValue, match="not the ARN of a queue"):
        parse_queue_arn(arn)
