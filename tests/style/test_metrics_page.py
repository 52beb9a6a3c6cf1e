"""Every metric is documented as it is exposed."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.fakes.queue_house import QueueHouse, plain
from tests.style.sources import ROOT

from duolog.app.gauges import register_gauges, register_peer_gauges, register_process_gauges
from duolog.app.pipeline_gauges import register_pipeline_gauges
from duolog.app.queue_gauges import register_queue_gauges
from duolog.app.usage_counters import register_usage_counters
from duolog.core.groups.ledger import TopicPartition
from duolog.core.usage.keys import Counts
from duolog.model.pipeline_state import PipelineState
from duolog.observe.exposition import Exposition, render_samples
from duolog.observe.metrics import Dimension, Metrics
from duolog_pipelines.state import States

PAGE = ROOT / "docs" / "metrics.md"
HISTOGRAM_LABELS = {"le"}


class Family(NamedTuple):
    kind: str
    labels: str


def families(text: bytes) -> dict[str, Family]:
    """By the name that a query uses."""
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        if not family.name.startswith("duolog_"):
            continue
        labels = {label for sample in family.samples for label in sample.labels}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shown = ", ".join(f"`{label}`" for label in sorted(labels - HISTOGRAM_LABELS))
        found[name] = Family(family.type, shown)
    return found


class Totals:
    """A meter that has counted something of everything."""

    def totals(self) -> Any:
        key = SimpleNamespace(kind="queue", resource="work", operation="send")
        return [(key, Counts(*[1] * len(Counts._fields)))]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """As app/node.py registers them, with a queue, a group and a pipeline to tell of."""
    directory = tmp_path_factory.mktemp("metrics")
    house = QueueHouse(str(directory / "meta.sqlite"))
    house.create("work")
    house.send("work", *plain("a"))
    made = Metrics()
    made.request("kafka", "fetch")
    offsets = {TopicPartition("work", 0): SimpleNamespace(offset=0)}
    group: Any = SimpleNamespace(ledger=SimpleNamespace(offsets=offsets))
    patched = pytest.MonkeyPatch()
    patched.setattr(house.broker.groups, "find", lambda name: group)
    listener: Any = SimpleNamespace(connection_count=0)
    housekeeping: Any = SimpleNamespace(quarantined=0)
    register_gauges(made, house.broker, housekeeping, listener)
    register_peer_gauges(made, lambda: 0)
    process: Any = SimpleNamespace(lost=0, count=0, longest_ns=0)
    register_process_gauges(made, process, process)
    register_queue_gauges(made, house.queues)
    register_usage_counters(made, Totals())
    States(directory).keep(PipelineState("usage"))
    register_pipeline_gauges(made, directory)
    yield made
    patched.undo()
    house.close()


def documented(heading: str) -> dict[str, Family]:
    """The rows of the table under a heading, by what their first cell names."""
    page = PAGE.read_text(encoding="utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `duolog_")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    assert all(len(each) == 4 for each in cells), f"four cells a row under {heading}"
    return {
        name.strip("`"): Family(kind, "" if labels == "none" else labels)
        for name, kind, labels, _ in cells
    }


def check(heading: str, exposed: dict[str, Family]) -> None:
    told = documented(heading)
    assert [
        f"add a row `| `{name}` | {family.kind} | {family.labels or 'none'} | <meaning> |` to the"
        f" table `{heading}` of docs/metrics.md"
        for name, family in exposed.items()
        if told.get(name) != family
    ] == []
    assert [
        f"docs/metrics.md has `{name}`, which no node exposes: register it in src/duolog/app"
        for name in told
        if name not in exposed
    ] == []


def test_every_metric_of_a_node_is_documented(metrics: Metrics) -> None:
    check("Of a node", families(Exposition(metrics).render()))


@pytest.mark.parametrize("dimension", ["topic", "group", "queue"])
def test_every_metric_in_detail_is_documented(metrics: Metrics, dimension: Dimension) -> None:
    samples = metrics.details[dimension]("work")
    assert samples is not None
    check(f"Of one {dimension}", families(render_samples(samples)))
