"""A round of the pipeline: reads new lines, takes them, sums them up."""

import json
from pathlib import Path

from duolog_pipelines.lake import Lake
from duolog_pipelines.pipeline import Outcome, Span, Stage
from duolog_pipelines.upkeep import tidy
from duolog_pipelines.usage.journals import gaps_sentence
from duolog_pipelines.usage.lines import RECORDS
from duolog_pipelines.usage.summing import date_of, keep_summed, sum_days, sum_hours, update_totals
from duolog_pipelines.usage.tables import UsageTables
from duolog_pipelines.usage.taking import Taking, journals_of
from duolog_pipelines.usage.totals import HOUR_MS, hours_in
from pyspark_duolog.source.offsets import offsets_from_json


def journals_file(lake: Lake) -> Path:
    """File of the journals' progress, beside the checkpoint that it belongs to."""
    return lake.checkpoint("usage.journals.json")


def run(stage: Stage) -> Outcome:
    tables = UsageTables(stage.lake)
    checkpoint = stage.lake.checkpoint("usage")
    taking = Taking(tables, checkpoint, journals_file(stage.lake), stage.progress, stage.now_ms)
    topic = stage.options["topic"]
    stage.progress.step(f"reading {topic}")
    query = (
        stage.spark.readStream.format("duolog")
        .schema(RECORDS)
        .option("kafka.bootstrap.servers", stage.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", stage.options["records_per_batch"])
        .option("minPartitions", stage.spark.sparkContext.defaultParallelism)
        .option("kafka.group.id", stage.options["group"])
        .load()
        .writeStream.foreachBatch(taking)
        .option("checkpointLocation", str(checkpoint))
        .queryName("usage")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    stage.progress.step("summing up")
    hours = update_totals(stage.spark, tables, stage.now_ms)
    stage.progress.step("compacting")
    _tidy(tables, stage.now_ms)
    gaps = journals_of(stage.spark, tables.lines, journals_file(stage.lake)).gaps()
    facts = {
        "repeated": taking.repeated,
        "rejected": taking.rejected,
        "hours": hours,
        "gaps": len(gaps),
    }
    return Outcome(taking.lines, {topic: _reached(checkpoint, topic)}, facts, _error(stage, gaps))


def backfill(stage: Stage, span: Span) -> Outcome:
    """Recompute the sums of all hours that overlap the span, and of their days."""
    tables = UsageTables(stage.lake)
    spark = stage.spark
    stage.progress.step("looking for hours")
    first = span.from_ms - span.from_ms % HOUR_MS
    files = [
        each.path
        for each in tables.lines.statistics()
        if each.lowest["from_ms"] < span.to_ms and each.highest["from_ms"] >= first
    ]
    found = hours_in(tables.lines.frame(spark, files)) if files else None
    rows = [] if found is None else found.collect()
    hours = {row["hour_ms"] for row in rows if first <= row["hour_ms"] < span.to_ms}
    stage.progress.step("summing up")
    sum_hours(spark, tables, hours, stage.now_ms)
    sum_days(spark, tables, {date_of(hour) for hour in hours}, stage.now_ms)
    return Outcome(len(hours), facts={"hours": len(hours)})


def _tidy(tables: UsageTables, now_ms: int) -> None:
    if tidy(tables.lines).compacted:
        keep_summed(tables, now_ms)
    for table in (tables.hourly, tables.daily, tables.rejected):
        tidy(table)


def _error(stage: Stage, gaps: list[str]) -> str | None:
    if not gaps or stage.options["gaps"] == "report":
        return None
    return (
        f"Usage is missing: {gaps_sentence(gaps)}. All other usage was summed up; with"
        " --option gaps=report a run does not fail because of it."
    )


def _reached(checkpoint: Path, topic: str) -> dict[int, int]:
    """Offsets of the last batch that the query has planned and done."""
    planned = [file for file in (checkpoint / "offsets").iterdir() if file.name.isdigit()]
    if not planned:
        return {}
    latest = max(planned, key=lambda file: int(file.name))
    offsets = offsets_from_json(json.loads(latest.read_text().splitlines()[-1]))
    return dict(offsets[topic].next) if topic in offsets else {}
