"""Ids of messages: each of one message, and the message is found by it."""

import uuid

import pytest

from duolog.broker.queues.identities import MessageIds


@pytest.mark.parametrize("first", [0, 250, 255, 256, (1 << 48) - 5, 1 << 50])
def test_the_ids_of_a_run_are_those_of_its_messages(first: int) -> None:
    ids = MessageIds(uuid.uuid4(), 3)
    run = range(first, first + 600)
    assert list(ids.of_run(run)) == [ids.of(offset) for offset in run]
    assert list(ids.of_run(run[:1])) == [ids.of(first)]
    assert [ids.offset_of(each) for each in ids.of_run(run)] == list(run)
