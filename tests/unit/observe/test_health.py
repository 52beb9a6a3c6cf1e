"""When a node is ready, and what it says when it is not."""

import pytest

from duolog.observe.health import Health


def test_a_node_of_which_nothing_is_known_is_not_ready() -> None:
    health = Health()
    assert not health.ready
    assert health.reasons == {"start": "the node is starting"}


def test_a_node_is_ready_when_all_conditions_are_fine() -> None:
    health = Health()
    health.set("log", False, "recovering")
    health.set("kafka", True)
    assert not health.ready
    assert health.reasons == {"log": "recovering"}
    health.set("log", True)
    assert health.ready
    assert health.reasons == {}
    health.set("kafka", False, "stopping")
    assert health.reasons == {"kafka": "stopping"}


def test_a_trouble_that_is_noted_leaves_the_node_ready() -> None:
    health = Health()
    health.set("start", True)
    health.note("disk", "full")
    assert health.ready
    assert health.notes == {"disk": "full"}
    health.note("disk", "")
    assert not health.notes


def test_a_failed_condition_needs_a_reason() -> None:
    with pytest.raises(AssertionError):
        Health().set("log", False)
