"""One connection: answers in order, and one clear error when it ends."""

import asyncio
from typing import Any

import pytest
from tests.unit.client.kafka_server import HANG_UP, SILENCE, SIZE, KafkaServer

from duolog.client.connection import Connection, connect
from duolog.client.errors import Garbled, Refused, Unreachable
from duolog.wire.kafka.apis import ApiKey

ALL_TOPICS = {"topics": None}


async def connected(server: KafkaServer, **more: int) -> Connection:
    return await connect(server.endpoint, client_id="test", **more)


async def test_requests_are_pipelined_and_answered_in_order(server: KafkaServer) -> None:
    server.topics = {f"topic-{number}": 1 for number in range(20)}
    connection = await connected(server)
    answers = await asyncio.gather(
        *(
            connection.call(ApiKey.METADATA, {"topics": [{"topic_id": None, "name": name}]})
            for name in server.topics
        )
    )
    assert [answer.topics[0].name for answer in answers] == list(server.topics)
    connection.close()


async def test_more_requests_than_may_wait_are_sent_later(
    server: KafkaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duolog.client.connection.IN_FLIGHT_MAX", 2)
    server.answers[ApiKey.METADATA] = lambda request: SILENCE
    connection = await connected(server)
    calls = [asyncio.create_task(connection.call(ApiKey.METADATA, ALL_TOPICS)) for _ in range(5)]
    async with asyncio.timeout(10):
        while len(server.asked(ApiKey.METADATA)) < 2:
            await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert len(server.asked(ApiKey.METADATA)) == 2
    connection.close()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(outcome, Unreachable) for outcome in outcomes)


async def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1 cannot be connected to"):
        await connect(("127.0.0.1", 1), client_id="test")


async def test_a_lost_connection_fails_everything_that_waits(server: KafkaServer) -> None:
    server.answers[ApiKey.METADATA] = lambda request: HANG_UP
    connection = await connected(server)
    outcomes = await asyncio.gather(
        *(connection.call(ApiKey.METADATA, ALL_TOPICS) for _ in range(3)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [Unreachable] * 3
    assert not connection.is_open
    with pytest.raises(Unreachable):
        await connection.call(ApiKey.METADATA, ALL_TOPICS)


async def test_a_missing_answer_ends_the_connection(server: KafkaServer) -> None:
    server.answers[ApiKey.METADATA] = lambda request: SILENCE
    connection = await connected(server)
    with pytest.raises(Unreachable, match=r"did not answer within 0\.05 s"):
        await connection.call(ApiKey.METADATA, ALL_TOPICS, seconds_max=0.05)
    assert not connection.is_open


async def test_whoever_stops_waiting_does_not_confuse_the_next_answer(
    server: KafkaServer,
) -> None:
    server.topics = {"orders": 1}
    connection = await connected(server)
    given_up = asyncio.create_task(connection.call(ApiKey.METADATA, {"topics": []}))
    await asyncio.sleep(0)
    given_up.cancel()
    answer = await connection.call(ApiKey.METADATA, ALL_TOPICS)
    assert [topic.name for topic in answer.topics] == ["orders"]
    connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        SIZE.pack(-1),
        SIZE.pack(5_000),
        SIZE.pack(4) + SIZE.pack(77),
        SIZE.pack(6) + SIZE.pack(2) + b"\0\xff",
    ],
    ids=["negative size", "too large", "other correlation id", "no response"],
)
async def test_an_answer_that_is_none_is_garbled(server: KafkaServer, answer: bytes) -> None:
    connection = await connected(server, frame_bytes_max=4_096)
    server.answers[ApiKey.METADATA] = lambda request: answer
    with pytest.raises(Garbled, match="does not answer with a Kafka response"):
        await connection.call(ApiKey.METADATA, ALL_TOPICS)


async def test_a_version_that_is_not_served_is_refused_before_it_is_sent(
    server: KafkaServer,
) -> None:
    def old(request: Any) -> dict[str, Any]:
        metadata = {"api_key": ApiKey.METADATA, "min_version": 0, "max_version": 1}
        return {"error_code": 0, "api_keys": [metadata]}

    server.answers[ApiKey.API_VERSIONS] = old
    connection = await connected(server)
    for api_key in (ApiKey.METADATA, ApiKey.FETCH):
        with pytest.raises(Refused, match="is not served") as refused:
            await connection.call(api_key, ALL_TOPICS)
        assert refused.value.name == "UNSUPPORTED_VERSION"
    connection.close()
