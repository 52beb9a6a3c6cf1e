"""Queues, as the admin API shows them, and to whom."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.queue_house import QueueHouse

from duolog.admin_api.handler import AdminApi
from duolog.core.queues.message import Outgoing
from duolog.observe.health import Health
from duolog.observe.metrics import Metrics
from duolog.ports.http import Request, Response

HERE = "127.0.0.1:5"
PATHS = ["/queues", "/queues/jobs", "/queues/jobs/messages", "/queues/jobs/replay"]


class Api:
    def __init__(self, house: QueueHouse) -> None:
        self.house = house
        self._handle = AdminApi(Health(), Metrics())
        self._handle.attach(house.queues)

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: object = None,
        *,
        peer: str = HERE,
        headers: dict[bytes, bytes] | None = None,
    ) -> Response:
        path, _, query = target.partition("?")
        given = {b"host": b"localhost"} if headers is None else headers
        answer = self._handle(Request(method, path, query, given, json.dumps(body).encode(), peer))
        return answer if isinstance(answer, Response) else self.house.run(answer)

    def get(self, target: str) -> Any:
        return json.loads(self.ask(target).body)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    house = QueueHouse(str(tmp_path / "meta.sqlite"))
    house.create("jobs")
    house.send("jobs", *(Outgoing(text) for text in "abc"))
    yield Api(house)
    house.close()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "sender",
    [
        {"peer": "10.0.0.1:5"},
        {"headers": {b"host": b"rebound.example:9325"}},
        {"headers": {b"host": b"localhost", b"origin": b"https://evil.example"}},
        {"headers": {b"host": b"localhost", b"sec-fetch-site": b"cross-site"}},
    ],
)
def test_only_programs_on_this_machine_are_told_about_queues(
    api: Api, path: str, method: str, sender: dict[str, Any]
) -> None:
    answer = api.ask(path, method, {"from_ms": 0, "to_ms": 1}, **sender)
    assert answer.status == 403
    assert "jobs" not in answer.body.decode()


@pytest.mark.parametrize("path", ["/livez", "/metrics"])
def test_health_and_metrics_are_for_everybody(api: Api, path: str) -> None:
    sender = {b"host": b"node-1.example", b"origin": b"https://monitor.example"}
    assert api.ask(path, peer="10.0.0.1:5", headers=sender).status == 200


def test_messages_come_in_pages(api: Api) -> None:
    page = api.get("/queues/jobs/messages?limit=2")
    assert [each["body"] for each in page["messages"]] == ["a", "b"]
    assert api.get(f"/queues/jobs/messages?from={page['next']}")["next"] is None


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=1001", "limit=", "limit=-1", "limit=%D9%A1", "limit=1e3"),
        *("id=", "state=", "state=lost", "partition=", "partition=1", "from=", "colour=blue"),
    ],
)
def test_a_wrong_parameter_is_refused(api: Api, query: str) -> None:
    answer = api.ask(f"/queues/jobs/messages?{query}")
    assert answer.status == 400
    assert json.loads(answer.body)["code"] == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/queues/absent", "QueueDoesNotExist"),
        ("/queues/absent/messages", "QueueDoesNotExist"),
        ("/queues/jobs/messages?id=absent", "MessageDoesNotExist"),
    ],
)
def test_it_is_told_what_is_not_there(api: Api, target: str, code: str) -> None:
    answer = api.ask(target)
    assert (answer.status, json.loads(answer.body)["code"]) == (404, code)


@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_method_is_told_the_right_one(api: Api, path: str) -> None:
    refused = api.ask(path, "DELETE")
    assert refused.status == 405
    allowed = b"POST" if path.endswith("replay") else b"GET, HEAD"
    assert dict(refused.headers)[b"Allow"] == allowed


def test_a_path_that_is_none_is_not_found(api: Api) -> None:
    assert api.ask("/queues/jobs/colour", "DELETE").status == 404


def test_a_replay_tells_how_many_messages_come_again(api: Api) -> None:
    answer = api.ask("/queues/jobs/replay", "POST", {"from_ms": 0, "to_ms": (1 << 63) - 1})
    assert (answer.status, json.loads(answer.body)) == (200, {"messages": 0})


@pytest.mark.parametrize(
    "wanted",
    [
        {"from_ms": 5, "to_ms": 5},
        {"from_ms": 6, "to_ms": 5},
        {"from_ms": -1, "to_ms": 5},
        {"from_ms": 0, "to_ms": 1 << 63},
        {"from_ms": 0},
        [],
    ],
)
def test_a_replay_of_no_time_is_refused(api: Api, wanted: object) -> None:
    assert api.ask("/queues/jobs/replay", "POST", wanted).status == 400
