"""Every API that is announced is served, and every place that an API needs has it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.harness.requests import REQUESTS

from duolog.kafka_api import handlers
from duolog.kafka_api.client import Client
from duolog.kafka_api.dispatch import GUIDING_APIS, HANDLERS, Dispatch, OutOfTouch
from duolog.observe.metrics import Metrics
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.messages import decode_request, encode_request

HERE = Path(__file__).parent
WAYS_OF_THEIR_OWN = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.API_VERSIONS}
"""The first two never come to dispatch; the others are answered by a codec of their own."""


def test_every_api_has_its_versions() -> None:
    assert [
        f"add `_api(ApiKey.{key.name}, <first version>, <last version>, flexible_from=...),`"
        " to APIS in src/duolog/wire/kafka/apis.py"
        for key in ApiKey
        if key not in APIS
    ] == []


def test_every_api_that_is_announced_has_a_handler() -> None:
    assert [
        f"add `ApiKey.{key.name}: {APIS[key].name}.handle,` to HANDLERS in"
        " src/duolog/kafka_api/dispatch.py"
        for key in ApiKey
        if key not in HANDLERS and key not in WAYS_OF_THEIR_OWN
    ] == []
    assert not HANDLERS.keys() & WAYS_OF_THEIR_OWN


def test_an_api_is_served_by_the_module_of_its_name() -> None:
    assert {key: handle.__module__ for key, handle in HANDLERS.items()} == {
        key: f"{handlers.__name__}.{APIS[key].name}" for key in HANDLERS
    }


def test_every_api_has_a_valid_request_that_hostile_clients_begin_from() -> None:
    assert [
        f"add `ApiKey.{key.name}: {{<field>: <value>, ...}},` to REQUESTS in"
        " tests/harness/requests.py"
        for key in ApiKey
        if key not in REQUESTS
    ] == []


@pytest.mark.parametrize("key", REQUESTS, ids=lambda key: key.name)
def test_a_valid_request_is_read_at_every_version(key: ApiKey) -> None:
    for version in range(APIS[key].min_version, APIS[key].max_version + 1):
        body = encode_request(key, version, REQUESTS[key])
        decode_request(key, version, memoryview(body))


def test_every_api_is_called_by_a_unit_test() -> None:
    texts = [path.read_text() for path in HERE.rglob("test_*.py") if path != Path(__file__)]
    assert [
        f"add tests/unit/kafka_api/handlers/test_{APIS[key].name}.py: no test calls"
        f" ApiKey.{key.name}"
        for key in ApiKey
        if not any(f"ApiKey.{key.name}" in text for text in texts)
    ] == []


@pytest.mark.parametrize("key", sorted(GUIDING_APIS), ids=lambda key: key.name)
def test_a_node_that_is_out_of_touch_tells_nobody_whom_to_ask(key: ApiKey) -> None:
    broker: Any = SimpleNamespace(roles=SimpleNamespace(is_suspended=True))
    version = APIS[key].max_version
    body = memoryview(encode_request(key, version, REQUESTS[key]))
    with pytest.raises(OutOfTouch):
        Dispatch(broker, Metrics()).begin(key, 1, Client("test", "127.0.0.1", version), body)


@pytest.mark.parametrize(
    ("key", "version"), [(ApiKey.HEARTBEAT, 5), (ApiKey.LIST_OFFSETS, 0), (999, 0)]
)
def test_a_version_that_is_not_served_is_malformed(key: int, version: int) -> None:
    with pytest.raises(MalformedRequest):
        Dispatch(SimpleNamespace(), Metrics()).stats_of(key, version)  # type: ignore[arg-type]
