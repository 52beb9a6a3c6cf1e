"""Message move tasks speak of queues by their ARNs."""

import pytest
from tests.fakes.queues import NOW_MS
from tests.unit.sqs_api.workbench import Workbench, arn


@pytest.fixture(autouse=True)
def queues(sqs: Workbench) -> None:
    sqs.queues.make("dead")
    sqs.queues.make("q")


async def test_a_task_is_started_listed_and_cancelled(sqs: Workbench) -> None:
    started = await sqs.call(
        "StartMessageMoveTask",
        SourceArn=arn("dead"),
        DestinationArn=arn("q"),
        MaxNumberOfMessagesPerSecond=500,
    )
    assert started == {"TaskHandle": "task-0"}
    (task,) = sqs.queues.move_tasks.tasks
    assert (task.source, task.destination, task.rate) == ("dead", "q", 500)
    task.moved = 3
    assert await sqs.call("ListMessageMoveTasks", SourceArn=arn("dead")) == {
        "Results": [
            {
                "TaskHandle": "task-0",
                "Status": "RUNNING",
                "SourceArn": arn("dead"),
                "DestinationArn": arn("q"),
                "MaxNumberOfMessagesPerSecond": 500,
                "ApproximateNumberOfMessagesMoved": 3,
                "ApproximateNumberOfMessagesToMove": 7,
                "StartedTimestamp": NOW_MS,
            }
        ]
    }
    cancelled = await sqs.call("CancelMessageMoveTask", TaskHandle="task-0")
    assert cancelled == {"ApproximateNumberOfMessagesMoved": 3}


async def test_a_task_that_has_ended_has_no_handle(sqs: Workbench) -> None:
    await sqs.call("StartMessageMoveTask", SourceArn=arn("dead"))
    (task,) = sqs.queues.move_tasks.tasks
    task.status, task.failure = "FAILED", "The queue to move to does not exist."
    (listed,) = (await sqs.call("ListMessageMoveTasks", SourceArn=arn("dead")))["Results"]
    assert "TaskHandle" not in listed
    assert "DestinationArn" not in listed
    assert "MaxNumberOfMessagesPerSecond" not in listed
    assert listed["FailureReason"] == task.failure


async def test_the_latest_task_is_listed_or_up_to_ten(sqs: Workbench) -> None:
    for _ in range(12):
        await sqs.call("StartMessageMoveTask", SourceArn=arn("dead"))
    latest = await sqs.call("ListMessageMoveTasks", SourceArn=arn("dead"))
    assert [each["TaskHandle"] for each in latest["Results"]] == ["task-11"]
    ten = await sqs.call("ListMessageMoveTasks", SourceArn=arn("dead"), MaxResults=10)
    assert len(ten["Results"]) == 10


@pytest.mark.parametrize("count", [0, 11])
async def test_other_numbers_of_tasks_are_refused(sqs: Workbench, count: int) -> None:
    refusal = await sqs.refusal("ListMessageMoveTasks", SourceArn=arn("dead"), MaxResults=count)
    assert refusal.code == "InvalidParameterValue"


@pytest.mark.parametrize("rate", [0, 501])
async def test_other_rates_are_refused(sqs: Workbench, rate: int) -> None:
    refusal = await sqs.refusal(
        "StartMessageMoveTask", SourceArn=arn("dead"), MaxNumberOfMessagesPerSecond=rate
    )
    assert refusal.code == "InvalidParameterValue"
    assert sqs.queues.move_tasks.tasks == []


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ("dead", 400, "InvalidParameterValue"),
        ("arn:aws:sqs:dead", 400, "InvalidParameterValue"),
        (arn("nowhere"), 404, "ResourceNotFoundException"),
        (arn("dead").replace("us-east-1", "eu-west-1"), 404, "ResourceNotFoundException"),
        (arn("dead").replace("000000000000", "999999999999"), 404, "ResourceNotFoundException"),
    ],
)
async def test_an_arn_must_be_one_of_ours(
    sqs: Workbench, given: str, status: int, code: str
) -> None:
    for action, parameters in (
        ("StartMessageMoveTask", {"SourceArn": given}),
        ("StartMessageMoveTask", {"SourceArn": arn("dead"), "DestinationArn": given}),
        ("ListMessageMoveTasks", {"SourceArn": given}),
    ):
        refusal = await sqs.refusal(action, **parameters)
        assert (refusal.status, refusal.code) == (status, code)


async def test_a_task_that_is_not_there_cannot_be_cancelled(sqs: Workbench) -> None:
    refusal = await sqs.refusal("CancelMessageMoveTask", TaskHandle="nothing")
    assert (refusal.status, refusal.code) == (404, "ResourceNotFoundException")
