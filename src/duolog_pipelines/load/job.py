"""One measurement of the load, and the advice that follows from it."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from duolog.model.advice import VERSION, Action, Advice, encode_advice
from duolog.model.limits import PARTITIONS_PER_TOPIC_MAX
from duolog_pipelines.delta import SparkTable
from duolog_pipelines.load import measures, names
from duolog_pipelines.load.advice import Limits, PartitionLoad, additions, moves
from duolog_pipelines.load.measures import growth, hot_keys, inflow, partition_loads, sized
from duolog_pipelines.load.scope import Seen, see
from duolog_pipelines.pipeline import Outcome, Stage
from duolog_pipelines.state import replace_file
from duolog_pipelines.upkeep import replace_rows
from duolog_pipelines.usage.tables import UsageTables

SCHEMAS = {
    names.PARTITIONS: measures.PARTITIONS,
    names.HOT_KEYS: measures.HOT_KEYS,
    names.GROWTH: measures.GROWTH,
}
_KNOWN = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("leader", IntegerType()),
        StructField("stored_records", LongType()),
        StructField("stored_bytes", LongType()),
        StructField("measured_ms", LongType()),
    ]
)


def run(stage: Stage) -> Outcome:
    stage.progress.step("asking nodes")
    seen = see(stage.bootstrap_servers, stage.admin_address)
    seconds = stage.options["window_seconds"]
    stage.progress.step("reading records")
    records = _records(stage, seen, stage.now_ms - 1000 * seconds).persist()
    try:
        loads = partition_loads(records, _known(stage, seen), seconds).persist()
        hot = hot_keys(records, stage.options["hot_share"]).persist()
        _replace(stage, names.PARTITIONS, loads)
        _replace(stage, names.HOT_KEYS, hot)
        _replace(stage, names.GROWTH, _growth(stage, loads))
        measured = [
            PartitionLoad(
                row.topic,
                row.partition,
                seen.replicas[row.topic, row.partition],
                row.bytes_per_second,
                row.stored_bytes,
            )
            for row in loads.collect()
        ]
        shares: dict[str, float] = {}
        for row in hot.collect():
            shares[row.topic] = max(row.share, shares.get(row.topic, 0.0))
        count = records.count()
    finally:
        records.unpersist()
    limits = Limits(stage.options["partition_rate"], PARTITIONS_PER_TOPIC_MAX)
    actions: list[Action] = [*additions(measured, shares, limits), *moves(measured, seen.nodes)]
    file = stage.lake.exports("load") / names.ADVICE
    replace_file(file, encode_advice(Advice(VERSION, stage.now_ms, actions)))
    facts = {"actions": len(actions), "hot_keys": len(shares), "advice": str(file)}
    return Outcome(count, facts=facts)


def _records(stage: Stage, seen: Seen, since_ms: int) -> DataFrame:
    if not seen.topics:
        empty = stage.spark.createDataFrame([], "topic STRING, partition INT, key BINARY")
        return empty.withColumn("bytes", F.lit(0).cast("long"))
    read = (
        stage.spark.read.format("duolog")
        .option("kafka.bootstrap.servers", stage.bootstrap_servers)
        .option("subscribe", ",".join(seen.topics))
        .option("startingTimestamp", max(0, since_ms))
        # Records removed while they are read are past load, and no error.
        .option("failOnDataLoss", "false")
        .schema("topic STRING, partition INT, key BINARY, value BINARY")
        .load()
    )
    return sized(read)


def _known(stage: Stage, seen: Seen) -> DataFrame:
    rows: list[tuple[Any, ...]] = [
        (*at, leader, seen.bounds[at].offset_count, seen.stored[at], stage.now_ms)
        for at, leader in seen.leaders.items()
    ]
    return stage.spark.createDataFrame(rows, _KNOWN)


def _growth(stage: Stage, loads: DataFrame) -> DataFrame:
    """Growth from the usage lines of the pipeline `usage`, or from the inflow if it never ran."""
    tables = UsageTables(stage.lake)
    if not tables.lines.exists:
        return inflow(loads)
    since_ms = stage.now_ms - 86_400_000 * stage.options["growth_days"]
    lines = tables.lines.frame(stage.spark)
    return growth(lines.where((F.col("operation") == "store") & (F.col("to_ms") >= since_ms)))


def _replace(stage: Stage, name: str, frame: DataFrame) -> None:
    replace_rows(SparkTable(stage.lake.table(name), SCHEMAS[name]), frame, stage.now_ms)
