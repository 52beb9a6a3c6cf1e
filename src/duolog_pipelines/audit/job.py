"""One audit of all stored messages and their journals."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from duolog.model.names import QUEUE_STATE_PREFIX
from duolog_pipelines.archive.table import ARCHIVE, archive_table
from duolog_pipelines.audit import accounts, balance, names
from duolog_pipelines.audit.latency import latencies
from duolog_pipelines.audit.numbering import duplicates, losses, numbered
from duolog_pipelines.audit.producers import producers
from duolog_pipelines.audit.scope import Nodes, Scope
from duolog_pipelines.audit.tables import COVERAGE_SCHEMA, replace
from duolog_pipelines.audit.wholeness import whole_since
from duolog_pipelines.pipeline import Outcome, Stage

_ENDS = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("end_offset", LongType()),
    ]
)
_SENT = StructType([StructField("queue", StringType()), StructField("topic", StringType())])


def run(stage: Stage) -> Outcome:
    nodes = Nodes(stage.bootstrap_servers, stage.admin_address)
    stage.progress.step("counting")
    scope = nodes.see(stage.options["topics"], stage.options["queues"])
    topics = sorted(name for name in scope.after if not name.startswith(QUEUE_STATE_PREFIX))
    stage.progress.step("reading journals")
    taken = accounts.take(stage, nodes, scope)
    try:
        balances = stage.spark.createDataFrame(taken.balances, balance.SCHEMA)
        replace(stage.lake, names.BALANCE, balances, stage.now_ms)
        coverage = stage.spark.createDataFrame(taken.coverage, COVERAGE_SCHEMA)
        replace(stage.lake, names.COVERAGE, coverage, stage.now_ms)
        stage.progress.step("reading messages")
        records = _records(stage, scope, topics).persist()
        _numbering(stage, scope, topics, records)
        stage.progress.step("latencies")
        _latencies(stage, scope, taken.fates, records)
        records.unpersist()
    finally:
        taken.fates.unpersist()
    accepted = sum(row["accepted"] for row in taken.balances)
    stage.progress.add_rows(accepted)
    counted = stage.lake.rows(names.PRODUCERS)
    facts = {
        "accepted": accepted,
        "losses": sum(row["missing"] for row in counted),
        "duplicates": sum(row["duplicates"] for row in counted),
    }
    return Outcome(accepted, _reached(scope, topics), facts, _imbalance(taken.balances))


def _records(stage: Stage, scope: Scope, topics: list[str]) -> DataFrame:
    """Places, times and headers of records; never their contents."""
    columns = ("topic", "partition", "offset", "timestamp", "headers")
    if stage.options["messages"] == "archive":
        table = archive_table(stage.lake.table(ARCHIVE))
        files = [each.path for each in table.statistics() if each.partition["topic"] in topics]
        ids = [scope.after[name].id for name in topics]
        rows = table.frame(stage.spark, files)
        return rows.where(F.col("topic_id").isin(ids)).select(*columns)
    end = {
        name: {
            str(each): bounds.end_offset for each, bounds in scope.after[name].partitions.items()
        }
        for name in topics
    }
    assigned = {name: [int(each) for each in known] for name, known in end.items()}
    if not topics:
        schema = archive_table(stage.lake.table(ARCHIVE)).schema
        return stage.spark.createDataFrame([], schema).select(*columns)
    return (
        stage.spark.read.format("duolog")
        .option("kafka.bootstrap.servers", stage.bootstrap_servers)
        .option("assign", json.dumps(assigned))
        .option("endingOffsets", json.dumps(end))
        .option("includeHeaders", "true")
        .schema(
            "topic STRING, partition INT, offset LONG, timestamp TIMESTAMP,"
            " headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
        )
        .load()
    )


def _numbering(stage: Stage, scope: Scope, topics: list[str], records: DataFrame) -> None:
    seconds = stage.options["bucket_seconds"]
    ends = stage.spark.createDataFrame(accounts.ends_of(scope, topics), _ENDS)
    whole = whole_since(records, ends).persist()
    rows = numbered(records).persist()
    missing = losses(rows, whole, seconds).persist()
    again = duplicates(rows, seconds).persist()
    replace(stage.lake, names.LOSSES, missing, stage.now_ms)
    replace(stage.lake, names.DUPLICATES, again, stage.now_ms)
    replace(stage.lake, names.PRODUCERS, producers(rows, missing, again, whole), stage.now_ms)
    for each in (whole, rows, missing, again):
        each.unpersist()


def _latencies(stage: Stage, scope: Scope, fates: DataFrame, records: DataFrame) -> None:
    by_topic = [(queue.name, queue.topic) for queue in scope.queues]
    queues = F.broadcast(stage.spark.createDataFrame(by_topic, _SENT))
    sent = records.join(queues, "topic").select("queue", "partition", "offset", "timestamp")
    told = latencies(fates, sent, stage.options["bucket_seconds"])
    replace(stage.lake, names.LATENCY, told, stage.now_ms)


def _reached(scope: Scope, topics: list[str]) -> dict[str, dict[int, int]]:
    return {
        name: {each: bounds.end_offset for each, bounds in scope.after[name].partitions.items()}
        for name in topics
    }


def _imbalance(balances: Sequence[Mapping[str, Any]]) -> str | None:
    wrong = [row for row in balances if row["unaccounted"]]
    if not wrong:
        return None
    told = ", ".join(f"{row['unaccounted']} of '{row['name']}'" for row in wrong)
    return f"Messages are not accounted for: {told}. The table {names.BALANCE} has the details."
