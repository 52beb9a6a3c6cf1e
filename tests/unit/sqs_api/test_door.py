"""The door recognises both protocols, and answers whatever comes as SQS would."""

import asyncio
import gc
import json
from typing import Any

import botocore.session
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.unit.sqs_api.workbench import (
    ACCOUNT,
    HOST,
    Refused,
    Workbench,
    headers_of,
    json_request,
    query_request,
    url,
)

from duolog.model.errors import StorageFailed
from duolog.model.queue_errors import QueueDoesNotExist
from duolog.ports.http import Memo, Request, Response

MODEL = botocore.session.get_session().get_service_model("sqs")


def refused(sqs: Workbench, response: Response) -> Refused:
    with pytest.raises(Refused) as caught:
        sqs.parse("ListQueues", response)
    return caught.value


@pytest.mark.parametrize("action", MODEL.operation_names)
async def test_every_action_asks_for_what_it_needs(sqs: Workbench, action: str) -> None:
    required = MODEL.operation_model(action).input_shape.required_members
    if required:
        assert (await sqs.refusal(action)).code == "MissingParameter"
    else:
        assert await sqs.call(action) == {}


# JSON.


async def test_json_is_known_by_its_target() -> None:
    sqs = Workbench("json")
    request = json_request("ListQueues", b"")
    del request.headers[b"content-type"]
    response = await sqs.answer(request)
    assert (response.status, response.body) == (200, b"{}")
    assert headers_of(response)[b"Content-Type"] == b"application/x-amz-json-1.0"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (b"AmazonSQS.FlyToTheMoon", "InvalidAction"),
        (b"AmazonSNS.ListQueues", "InvalidAction"),
        (b"ListQueues", "InvalidAction"),
        (b"\xff\xfe", "InvalidAction"),
        (b"AmazonSQS.", "MissingAction"),
        (None, "MissingAction"),
    ],
)
async def test_an_unknown_target_is_refused(target: bytes | None, code: str) -> None:
    sqs = Workbench("json")
    request = json_request("", b"{}")
    if target is not None:
        request.headers[b"x-amz-target"] = target
    assert refused(sqs, await sqs.answer(request)).code == code


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"\xff",
        b'{"QueueUrl": "\xed\xa0\x80"}',
        b'{"QueueUrl": "\\ud800"}',
        b'{"QueueUrl": 5}',
        b'{"QueueUrl": "q", "Entries": {}}',
        b'{"QueueUrl": "q", "Entries": [5]}',
        b"[" * 100_000,
        b'{"QueueUrl": ' + b"[" * 100_000,
        b'{"X": ' + b'{"a":' * 100_000,
    ],
)
async def test_what_is_no_request_in_json_is_refused(body: bytes) -> None:
    sqs = Workbench("json")
    response = await sqs.answer(json_request("DeleteMessageBatch", body))
    assert refused(sqs, response).code in ("SerializationException", "MissingParameter")
    assert response.status == 400


# Query.


async def test_a_get_with_an_action_is_served() -> None:
    sqs = Workbench("query")
    sqs.queues.make("q")
    request = Request(
        "GET", "/", "Action=ListQueues&Version=2012-11-05", {b"host": b"[::1]"}, b"", "127.0.0.1:1"
    )
    response = await sqs.answer(request)
    assert headers_of(response)[b"Content-Type"] == b"text/xml"
    assert sqs.parse("ListQueues", response) == {"QueueUrls": [f"http://[::1]/{ACCOUNT}/q"]}


async def test_a_queue_can_be_named_by_the_address_alone() -> None:
    sqs = Workbench("query")
    queue, other = sqs.queues.make("q"), sqs.queues.make("other")
    body = b"Action=SendMessage&MessageBody=x"
    assert (await sqs.answer(query_request(body, path=f"/{ACCOUNT}/q"))).status == 200
    assert queue.sent[0].body == "x"
    named = body + b"&QueueUrl=other"
    assert (await sqs.answer(query_request(named, path=f"/{ACCOUNT}/q"))).status == 200
    assert other.sent[0].body == "x"
    assert (await sqs.answer(query_request(body))).status == 400


async def test_requests_that_are_alike_are_answered_alike() -> None:
    sqs = Workbench()
    queue = sqs.queues.make("q")
    memo = Memo()
    for body in ("plain", "with \u2713", "plain again"):
        content = json.dumps({"QueueUrl": "q", "MessageBody": body}, ensure_ascii=False).encode()
        request = replace(json_request("SendMessage", content), memo=memo)
        assert (await sqs.answer(request)).status == 200
    assert [each.body for each in queue.sent] == ["plain", "with \u2713", "plain again"]
    assert memo.serve is not None
    alike = memo.serve(b'{"QueueUrl": "q", "MessageBody": "alike"}')
    sqs.queues.turn.flush()
    assert alike.response is not None
    assert sqs.parse("SendMessage", alike.response)["MessageId"] == "id-3"


async def test_two_forms_that_are_alike_may_ask_for_different_things() -> None:
    sqs = Workbench("query")
    queue = sqs.queues.make("q")
    memo = Memo()
    for body in (b"Action=ListQueues", b"Action=SendMessage&QueueUrl=q&MessageBody=x"):
        assert (await sqs.answer(replace(query_request(body), memo=memo))).status == 200
    assert queue.sent[0].body == "x"


async def test_parameters_may_be_in_the_address_and_in_the_body() -> None:
    sqs = Workbench("query")
    queue = sqs.queues.make("q")
    request = replace(query_request(b"MessageBody=x"), query="Action=SendMessage&QueueUrl=q")
    assert (await sqs.answer(request)).status == 200
    assert queue.sent[0].body == "x"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "MissingAction"),
        (b"Version=2012-11-05", "MissingAction"),
        (b"Action=", "MissingAction"),
        (b"Action=FlyToTheMoon", "InvalidAction"),
        (b'{"json": "without its header"}', "MissingAction"),
        (b"Action=ListQueues&MaxResults=ten", "InvalidParameterValue"),
        (b"Action=ListQueues&QueueNamePrefix=%ff", "InvalidParameterValue"),
        (b"Action=ListQueues&QueueNamePrefix=\xff", "InvalidParameterValue"),
        (b"Action=ListQueues" + b"&a=b" * 10_000, "InvalidParameterValue"),
        (b"Action=SendMessage&QueueUrl=q", "MissingParameter"),
    ],
)
async def test_what_is_no_request_in_a_form_is_refused(body: bytes, code: str) -> None:
    sqs = Workbench("query")
    response = await sqs.answer(query_request(body))
    assert response.status == 400
    assert refused(sqs, response).code == code


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_a_request_of_no_protocol_is_told_so(method: str) -> None:
    sqs = Workbench("query")
    request = Request(method, "/favicon.ico", "", {}, b"", "127.0.0.1:1")
    assert refused(sqs, await sqs.answer(request)).code == "MissingAction"


# Both.


@given(
    body=st.binary(max_size=200),
    query=st.text(st.characters(max_codepoint=255), max_size=50),
    path=st.text(st.characters(max_codepoint=255), max_size=50),
    action=st.sampled_from([*MODEL.operation_names, "", "Nothing"]),
    is_json=st.booleans(),
)
def test_whatever_bytes_come_they_have_an_answer(
    body: bytes, query: str, path: str, action: str, is_json: bool
) -> None:
    sqs = Workbench()
    if is_json:
        request = json_request(action, body)
    else:
        request = query_request(b"Action=%b&%b" % (action.encode(), body))
    response = asyncio.run(sqs.answer(replace(request, query=query, path=f"/{path}")))
    assert response.status in (200, 400)


async def test_urls_echo_the_host_that_the_client_used(sqs: Workbench) -> None:
    assert (await sqs.call("CreateQueue", QueueName="q"))[
        "QueueUrl"
    ] == f"http://{HOST}/{ACCOUNT}/q"


async def test_each_answer_has_an_id_of_its_own(sqs: Workbench) -> None:
    request = sqs.request("ListQueues", {})
    ids = {headers_of(await sqs.answer(request))[b"x-amzn-RequestId"] for _ in range(3)}
    assert len(ids) == 3
    assert all(len(each) == 36 for each in ids)


async def test_an_unknown_parameter_is_passed_over(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    body: dict[str, Any] = {"QueueUrl": "q", "MessageBody": "x", "Colour": "red"}
    if sqs.protocol == "json":
        request = json_request("SendMessage", json.dumps(body).encode())
    else:
        request = query_request(b"Action=SendMessage&QueueUrl=q&MessageBody=x&Colour=red")
    assert (await sqs.answer(request)).status == 200
    assert len(queue.sent) == 1


async def test_an_engine_that_cannot_is_no_fault_of_the_sender(sqs: Workbench) -> None:
    sqs.queues.make("q").failure = StorageFailed("The disk is full.")
    refusal = await sqs.refusal("SendMessage", QueueUrl=url("q"), MessageBody="x")
    assert (refusal.status, refusal.code) == (503, "ServiceUnavailable")
    assert refusal.message == "The disk is full."


async def test_an_answer_may_come_later(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    queue.hold()
    answer = sqs.begin("SendMessage", QueueUrl=url("q"), MessageBody="x")
    assert answer.response is None
    queue.release()
    assert answer.response is not None
    assert sqs.parse("SendMessage", answer.response)["MessageId"] == "id-0"


async def test_a_client_that_goes_abandons_its_receive(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    answer = sqs.begin("ReceiveMessage", QueueUrl=url("q"), WaitTimeSeconds=20)
    assert len(queue.parked) == 1
    answer.abandon()
    assert queue.parked == []
    assert len(queue.abandoned) == 1


async def test_who_goes_in_the_turn_in_which_it_came_receives_nothing(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    await sqs.call("SendMessage", QueueUrl=url("q"), MessageBody="x")
    request = sqs.request("ReceiveMessage", {"QueueUrl": url("q")})
    gone, other = sqs.door(request), sqs.door(request)
    gone.abandon()
    sqs.queues.turn.flush()
    assert gone.response is None
    assert other.response is not None
    assert len(sqs.parse("ReceiveMessage", other.response)["Messages"]) == 1
    assert queue.counts().in_flight == 1


async def test_a_queue_that_is_deleted_tells_who_waits_at_it(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    answer = sqs.begin("ReceiveMessage", QueueUrl=url("q"), WaitTimeSeconds=20)
    queue.refuse_parked(QueueDoesNotExist("The specified queue does not exist."))
    assert answer.response is not None
    refusal = refused(sqs, answer.response)
    assert refusal.code == "AWS.SimpleQueueService.NonExistentQueue"


async def test_a_change_is_made_although_its_client_goes(sqs: Workbench) -> None:
    sqs.queues.make("q")
    sqs.begin("DeleteQueue", QueueUrl=url("q")).abandon()
    await asyncio.sleep(0)
    assert sqs.queues.queues == {}


async def test_a_bug_is_reported_and_yet_answered(
    sqs: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, told: reported.append(told["exception"])
    )
    monkeypatch.setattr(sqs.queues, "names", lambda *asked: 1 / 0)
    refusal = await sqs.refusal("ListQueues")
    assert (refusal.status, refusal.code) == (500, "InternalFailure")
    assert "division" not in refusal.message
    await asyncio.sleep(0)
    gc.collect()
    assert [type(each) for each in reported] == [ZeroDivisionError]


async def test_a_bug_costs_nobody_else_an_answer(
    sqs: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, told: reported.append(told["exception"])
    )
    monkeypatch.setattr(sqs.queues.make("bad"), "receive_each", lambda *asked, **more: 1 / 0)
    monkeypatch.setattr(sqs.queues.get("bad"), "receive", lambda **asked: 1 / 0)
    sqs.queues.make("good")
    answers = [
        sqs.door(sqs.request("ReceiveMessage", {"QueueUrl": url(name)}))
        for name in ("good", "bad", "good")
    ]
    sqs.queues.turn.flush()
    responses = [answer.response for answer in answers]
    assert [response and response.status for response in responses] == [200, 500, 200]
    assert [type(each) for each in reported] == [ZeroDivisionError]


@pytest.mark.parametrize("end", ["at once", "later", "abandoned"])
async def test_a_receive_leaves_nothing_to_the_garbage_collector(sqs: Workbench, end: str) -> None:
    queue = sqs.queues.make("q")
    seconds = 0 if end == "at once" else 20
    request = sqs.request("ReceiveMessage", {"QueueUrl": url("q"), "WaitTimeSeconds": seconds})
    # What the first request of its kind makes is kept, and replaces what was kept before.
    await sqs.call("ReceiveMessage", QueueUrl=url("q"), WaitTimeSeconds=0)
    queue.receives.clear()
    gc.collect()
    gc.disable()
    try:
        answer = sqs.door(request)
        sqs.queues.turn.flush()
        if end == "abandoned":
            answer.abandon()
        elif end == "later":
            queue.refuse_parked(QueueDoesNotExist("The specified queue does not exist."))
        assert (answer.response is None) == (end == "abandoned")
        queue.receives.clear()
        queue.abandoned.clear()
        del answer
        assert gc.collect() == 0
    finally:
        gc.enable()


async def test_every_answer_is_counted(sqs: Workbench) -> None:
    sqs.queues.make("q")
    await sqs.call("SendMessage", QueueUrl=url("q"), MessageBody="x")
    await sqs.refusal("SendMessage", QueueUrl=url("q"), MessageBody="x" * 1_048_577)
    await sqs.refusal("SendMessage", QueueUrl=url("q"))
    await sqs.call("ListQueues")
    await sqs.call(
        "DeleteMessageBatch", QueueUrl=url("q"), Entries=[{"Id": "a", "ReceiptHandle": "?"}]
    )
    await sqs.answer(json_request("Nothing", b""))
    counted = {
        operation: (stats.answered, stats.failed)
        for (protocol, operation), stats in sqs.metrics.operations.items()
        if protocol == "sqs" and stats.answered
    }
    assert counted == {
        "SendMessage": (3, 2),
        "ListQueues": (1, 0),
        "DeleteMessageBatch": (1, 1),
        "unknown": (1, 1),
    }
