"""Nobody waits for ever: not for replicas that are away, either."""

import asyncio

import pytest
from tests.unit.sqs_api.workbench import Refused, Workbench, url

from duolog.sqs_api import overdue
from duolog.sqs_api.overdue import ANSWER_SECONDS_MAX


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "LOOK_SECONDS", 0.001)


async def pass_time(sqs: Workbench, seconds: float) -> None:
    sqs.clock.at_ms += int(seconds * 1000)
    await asyncio.sleep(0.02)


async def test_a_send_that_does_not_become_durable_is_answered_in_the_end(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    queue.hold()
    answer = sqs.begin("SendMessage", QueueUrl=url("q"), MessageBody="x")
    await pass_time(sqs, ANSWER_SECONDS_MAX - 1)
    assert answer.response is None
    await pass_time(sqs, 1)
    assert answer.response is not None
    with pytest.raises(Refused) as caught:
        sqs.parse("SendMessage", answer.response)
    assert (caught.value.status, caught.value.code) == (503, "ServiceUnavailable")
    assert "not known" in caught.value.message


async def test_what_is_done_after_all_is_told_to_nobody(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    queue.hold()
    answer = sqs.begin("SendMessage", QueueUrl=url("q"), MessageBody="x")
    await pass_time(sqs, ANSWER_SECONDS_MAX)
    told = answer.response
    queue.release()
    assert told is not None
    assert answer.response is told


async def test_the_longest_poll_ends_by_itself(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    answer = sqs.begin("ReceiveMessage", QueueUrl=url("q"), WaitTimeSeconds=20)
    await pass_time(sqs, 20)
    assert answer.response is None
    assert len(queue.parked) == 1
    await pass_time(sqs, ANSWER_SECONDS_MAX)
    assert answer.response is not None
    assert queue.parked == []


async def test_answers_are_not_kept(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    queue.hold()
    sqs.begin("SendMessage", QueueUrl=url("q"), MessageBody="x")
    sqs.begin("SendMessage", QueueUrl=url("q"), MessageBody="y").abandon()
    await asyncio.sleep(0)
    assert len(sqs.door._overdue._pending) == 1
    queue.release()
    assert not sqs.door._overdue._pending
