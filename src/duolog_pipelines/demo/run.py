"""`duolog demo pipeline`: a node, traffic with known mistakes, and all pipelines on it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from duolog.client.cluster import Cluster
from duolog.client.offsets import bounds_of
from duolog.client.topics import create_topic
from duolog.config.address import parse_address
from duolog_pipelines.archive.table import ARCHIVE, archive_table
from duolog_pipelines.audit import names
from duolog_pipelines.billing.counters import ask_nodes
from duolog_pipelines.billing.invoices import Invoices
from duolog_pipelines.demo.node import Addresses, running_node
from duolog_pipelines.demo.outcome import Found
from duolog_pipelines.demo.plan import Plan, planned
from duolog_pipelines.demo.prices import PRICES
from duolog_pipelines.demo.traffic import QUEUE, TOPIC, make_traffic
from duolog_pipelines.errors import NotAllowed, PipelineError
from duolog_pipelines.lake import Lake
from duolog_pipelines.registry import pipeline
from duolog_pipelines.running import Place, Runner
from duolog_pipelines.session import DRIVER_MEMORY, spark_session

MESSAGES = 1_000
"""Approximate number of messages of each producer."""
REPLAYED = "demo-replayed"
METERED_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.2
_BILLED = ("send", "produce")

Tell = Callable[[str], None]


def run_demo(data: Path, master: str, seed: int, tell: Tell) -> tuple[Plan, Found]:
    """Run the demo; returns the plan and the findings. PipelineError."""
    if data.exists() and any(data.iterdir()):
        raise NotAllowed(
            f"{data} is not empty. Give a directory that the demo can have for itself."
        )
    plan = planned(MESSAGES, Random(seed))
    lake = Lake.within(data)
    with running_node(data) as node:
        tell(f"A node serves Kafka on {node.kafka} and SQS on {node.sqs}; its data are in {data}.")
        tell(
            f"Clients send {plan.sent} messages. They leave out {plan.losses} and send"
            f" {plan.duplicates} twice, and say nothing about it."
        )
        asyncio.run(make_traffic(node, plan))
        _until_metered(node, plan.sent)
        with spark_session("demo", master, lake, DRIVER_MEMORY) as spark:
            _run_pipelines(Runner(spark, Place(node.kafka, node.admin, lake)), node, data, tell)
        replayed = asyncio.run(_end_of(node, REPLAYED))
    return plan, _found(lake, replayed)


def _run_pipelines(runner: Runner, node: Addresses, data: Path, tell: Tell) -> None:
    prices = data / "demo-prices.toml"
    prices.write_text(PRICES)
    asyncio.run(_create(node, REPLAYED))
    replay = {"id": "demo", "topic": TOPIC, "to": REPLAYED}
    for name, options in (
        ("billing", {"prices": str(prices)}),
        ("audit", {"topics": f"{TOPIC},{QUEUE}"}),
        ("archive", {"topics": f"{TOPIC},{QUEUE}"}),
        ("replay", replay),
        # Once more, to show that nothing is written twice.
        ("replay", replay),
    ):
        tell(f"Running {name}.")
        runner.run(pipeline(name), options)


def _until_metered(node: Addresses, sent: int) -> None:
    """Wait until the usage lines of all sends are in the log."""
    deadline = time.monotonic() + METERED_SECONDS_MAX
    counted = 0
    while time.monotonic() < deadline:
        totals = [each for node_totals in ask_nodes(node.admin).told for each in node_totals.totals]
        counted = sum(each.messages for each in totals if each.operation in _BILLED)
        if counted >= sent:
            return
        time.sleep(_POLL_SECONDS)
    raise PipelineError(f"Of {sent} messages the node has metered {counted}.")


async def _create(node: Addresses, topic: str) -> None:
    async with Cluster(parse_address(node.kafka)) as cluster:
        await create_topic(cluster, topic)


async def _end_of(node: Addresses, topic: str) -> int:
    """Number of records in a topic from which none was removed."""
    async with Cluster(parse_address(node.kafka)) as cluster:
        places = [(topic, each.partition) for each in (await cluster.topic(topic)).partitions]
        bounds = await bounds_of(cluster, places)
        return sum(each.offset_count for each in bounds.values())


def _found(lake: Lake, replayed: int) -> Found:
    balances = lake.rows(names.BALANCE)
    (orders,) = (each for each in balances if each["name"] == QUEUE and each["kind"] == "queue")
    producers = lake.rows(names.PRODUCERS)
    return Found(
        losses=sum(each["missing"] for each in producers),
        duplicates=sum(each["duplicates"] for each in producers),
        billed_messages=_billed(lake),
        archived=sum(each.rows for each in archive_table(lake.table(ARCHIVE)).statistics()),
        replayed=replayed,
        deleted=orders["deleted"],
        dead_lettered=orders["dead_lettered"],
        still_there=orders["there"],
        unaccounted=sum(each["unaccounted"] for each in balances),
    )


def _billed(lake: Lake) -> int:
    """Number of sent messages, as invoiced."""
    invoices = Invoices(lake.exports("billing"))
    charges = [row for record in invoices.drafts() for row in invoices.charges_of(record)]
    quantities = [
        row["ConsumedQuantity"]
        for row in charges
        if row["SkuMeter"] == "messages" and str(row["SkuId"]).startswith(_BILLED)
    ]
    return int(sum(quantities))
