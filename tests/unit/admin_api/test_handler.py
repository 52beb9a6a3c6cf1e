"""The admin API's paths, as operators and probes use them."""

import json

import pytest

from duolog.admin_api.handler import AdminApi
from duolog.admin_api.usage import UsagePages
from duolog.broker.usage.metering import UsageTold
from duolog.core.usage.keys import Counts, UsageKey
from duolog.core.usage.totals import Totals
from duolog.observe.health import Health
from duolog.observe.metrics import Metrics, Sample
from duolog.ports.http import Request, Response


class Api:
    def __init__(self) -> None:
        self.health = Health()
        self.metrics = Metrics()
        self.api = self._handle = AdminApi(self.health, self.metrics)

    def get(self, target: str, method: str = "GET") -> Response:
        path, _, query = target.partition("?")
        return self._handle(Request(method, path, query, {}, b"", "peer"))


@pytest.fixture
def api() -> Api:
    return Api()


def test_a_process_that_answers_is_alive_even_when_not_ready(api: Api) -> None:
    assert api.get("/livez").status == 200


def test_a_node_that_is_not_ready_says_why(api: Api) -> None:
    api.health.set("log", False, "recovering")
    answer = api.get("/readyz")
    assert answer.status == 503
    assert json.loads(answer.body) == {
        "status": "not ready",
        "reasons": {"log": "recovering"},
    }


def test_a_ready_node_says_so(api: Api) -> None:
    api.health.set("log", True)
    answer = api.get("/readyz")
    assert answer.status == 200
    assert json.loads(answer.body) == {"status": "ready", "reasons": {}}


def test_metrics_are_prometheus_text(api: Api) -> None:
    api.metrics.request("kafka", "Fetch").answered += 1
    answer = api.get("/metrics")
    assert answer.status == 200
    assert dict(answer.headers)[b"Content-Type"].startswith(b"text/plain; version=0.0.4")
    assert b'duolog_requests_total{operation="Fetch",protocol="kafka",status="ok"} 1.0' in (
        answer.body
    )


def test_details_are_asked_for_one_name_at_a_time(api: Api) -> None:
    def samples_of(topic: str) -> list[Sample] | None:
        if topic != "or ders":
            return None
        return [Sample("duolog_partition_size_bytes", "Bytes.", {"topic": topic}, 5)]

    api.metrics.detail("topic", samples_of)
    assert b'duolog_partition_size_bytes{topic="or ders"} 5.0' in (
        api.get("/metrics/detailed?topic=or%20ders").body
    )
    assert api.get("/metrics/detailed?topic=absent").status == 404
    for target in ("/metrics/detailed", "/metrics/detailed?group=g", "/metrics/detailed?topic"):
        answer = api.get(target)
        assert answer.status == 400
        assert "?topic=" in json.loads(answer.body)["error"]


def test_an_unknown_path_is_not_found(api: Api) -> None:
    answer = api.get("/nothing")
    assert answer.status == 404
    assert "/livez" in json.loads(answer.body)["error"]


def test_pages_can_only_be_read(api: Api) -> None:
    assert api.get("/livez", "HEAD").status == 200
    refused = api.get("/livez", "POST")
    assert refused.status == 405
    assert dict(refused.headers)[b"Allow"] == b"GET, HEAD"


def test_the_sums_of_all_usage_lines_are_told(api: Api) -> None:
    assert api.get("/usage").status == 404
    key = UsageKey("000000000000", "queue", "orders", "send")
    told = UsageTold("ab" * 16, 16, Totals([(key, Counts(4, 40, 40_960, 0, 1))]))
    api.api.attach_usage(UsagePages(1, lambda: told))
    answer = api.get("/usage")
    assert answer.status == 200
    assert json.loads(answer.body) == {
        "node": 1,
        "journal": "ab" * 16,
        "sent_sequence": 16,
        "totals": [
            {
                "tenant": "000000000000",
                "kind": "queue",
                "resource": "orders",
                "operation": "send",
                "requests": 4,
                "messages": 40,
                "bytes": 40_960,
                "byte_seconds": 0,
                "errors": 1,
            }
        ],
    }
