"""The SQS door as its client sees it."""

import json

import pytest
from tests.unit.client.http_server import Heard, RawHttpServer, answer

from duolog.client.errors import Garbled, Refused
from duolog.client.queues import Credentials, QueueClient
from duolog.wire.sqs.messages import GetQueueUrlRequest, PurgeQueueRequest
from duolog.wire.sqs.sigv4 import verify

NOW_MS = 1_700_000_000_000
CREDENTIALS = Credentials("AKIDEXAMPLE", "secret", "eu-central-1")


def client_of(server: RawHttpServer, credentials: Credentials | None = None) -> QueueClient:
    return QueueClient(server.endpoint, credentials, lambda: NOW_MS)


def error(code: str, message: str, status: int = 400) -> bytes:
    return answer(status, json.dumps({"__type": code, "message": message}).encode())


async def test_an_action_is_named_in_a_header(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: answer(200, b'{"QueueUrl": "http://here/1/orders"}')
    async with client_of(http_server) as client:
        assert await client.url_of("orders") == "http://here/1/orders"
    (heard,) = http_server.heard
    assert heard.headers["x-amz-target"] == "AmazonSQS.GetQueueUrl"
    assert heard.headers["content-type"] == "application/x-amz-json-1.0"
    assert json.loads(heard.body) == {"QueueName": "orders"}
    assert heard.headers["host"] == http_server.address
    assert "authorization" not in heard.headers


async def test_with_credentials_a_request_is_signed(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: answer(200, b"{}")
    async with client_of(http_server, CREDENTIALS) as client:
        await client.call(GetQueueUrlRequest("orders"), "queue 'orders'")
    (heard,) = http_server.heard
    headers = {name.encode(): value.encode() for name, value in heard.headers.items()}
    signer = verify(
        "POST",
        "/",
        "",
        headers,
        heard.body,
        secret_of={"AKIDEXAMPLE": "secret"}.get,
        region="eu-central-1",
        now_ms=NOW_MS,
    )
    assert signer == "AKIDEXAMPLE"


async def test_an_action_without_a_result_has_none(http_server: RawHttpServer) -> None:
    http_server.respond = lambda heard: answer(200, b"")
    async with client_of(http_server) as client:
        assert await client.call(PurgeQueueRequest("http://here/1/a"), "queue 'a'") is None


async def test_an_arn_is_asked_for(http_server: RawHttpServer) -> None:
    def respond(heard: Heard) -> bytes:
        if heard.headers["x-amz-target"].endswith("GetQueueUrl"):
            return answer(200, b'{"QueueUrl": "http://here/1/a"}')
        return answer(200, b'{"Attributes": {"QueueArn": "arn:aws:sqs:r:1:a"}}')

    http_server.respond = respond
    async with client_of(http_server) as client:
        assert await client.arn_of("a") == "arn:aws:sqs:r:1:a"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("com.amazonaws.sqs#QueueDoesNotExist", "QueueDoesNotExist"),
        ("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue"),
        ("com.example#Novelty", "Novelty"),
    ],
)
async def test_a_refusal_has_the_name_of_the_reference(
    http_server: RawHttpServer, code: str, name: str
) -> None:
    http_server.respond = lambda heard: error(code, "It is not so.")
    async with client_of(http_server) as client:
        with pytest.raises(Refused) as refused:
            await client.url_of("orders")
    assert refused.value.name == name
    assert refused.value.subject == "queue 'orders'"
    assert refused.value.message == "It is not so."


@pytest.mark.parametrize("status", [200, 500])
async def test_what_is_no_sqs_is_garbled(http_server: RawHttpServer, status: int) -> None:
    http_server.respond = lambda heard: answer(status, b"<html>")
    async with client_of(http_server) as client:
        with pytest.raises(Garbled, match="does not answer like SQS"):
            await client.url_of("orders")
