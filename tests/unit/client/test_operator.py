"""The admin API as its client sees it."""

import json

import pytest
from tests.unit.client.http_server import RawHttpServer, answer

from duolog.client.errors import Garbled, Refused
from duolog.client.operator import OperatorClient

QUEUE = {
    "name": "orders",
    "kind": "standard",
    "counts": {"ready": 3, "in_flight": 2, "delayed": 1},
    "partitions": 1,
}


def says(server: RawHttpServer, content: object, status: int = 200) -> None:
    server.respond = lambda heard: answer(status, json.dumps(content).encode())


async def test_queues_are_listed(http_server: RawHttpServer) -> None:
    says(http_server, {"queues": [QUEUE]})
    async with OperatorClient(http_server.endpoint) as client:
        (queue,) = await client.queues()
    assert (queue.name, queue.counts.total) == ("orders", 6)


async def test_fields_of_a_newer_node_are_passed_over(http_server: RawHttpServer) -> None:
    topic = {"topic": "orders", "topic_records": 3}
    more = {"attributes": {}, "tags": {}, "created_ms": 1, "oldest_message_age_seconds": None}
    says(http_server, {**QUEUE, **topic, **more, "colour": "blue"})
    async with OperatorClient(http_server.endpoint) as client:
        assert (await client.queue("orders")).kind == "standard"


async def test_names_are_quoted(http_server: RawHttpServer) -> None:
    says(http_server, {"messages": [], "next": None})
    async with OperatorClient(http_server.endpoint) as client:
        await client.messages("a/b", partition=1, from_offset=5, limit=7, state="ready")
    (heard,) = http_server.heard
    assert heard.target == "/queues/a%2Fb/messages?partition=1&from=5&limit=7&state=ready"


async def test_a_replay_is_told_its_times(http_server: RawHttpServer) -> None:
    says(http_server, {"messages": 4})
    async with OperatorClient(http_server.endpoint) as client:
        assert await client.replay("orders", 5, 9) == 4
    (heard,) = http_server.heard
    assert (heard.method, heard.target) == ("POST", "/queues/orders/replay")
    assert json.loads(heard.body) == {"from_ms": 5, "to_ms": 9}


async def test_a_refusal_carries_the_node_s_words(http_server: RawHttpServer) -> None:
    says(http_server, {"error": "there is no such queue", "code": "QueueDoesNotExist"}, 404)
    async with OperatorClient(http_server.endpoint) as client:
        with pytest.raises(Refused, match="queue 'orders': there is no such queue") as refused:
            await client.queue("orders")
    assert refused.value.name == "QueueDoesNotExist"


@pytest.mark.parametrize("content", [[], {"queues": None}, {"queues": [{"name": 1}]}])
async def test_what_is_no_admin_api_is_garbled(http_server: RawHttpServer, content: object) -> None:
    says(http_server, content)
    async with OperatorClient(http_server.endpoint) as client:
        with pytest.raises(Garbled, match="is not an admin API"):
            await client.queues()
