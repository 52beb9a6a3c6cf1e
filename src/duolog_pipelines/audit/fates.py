"""Fate of each message of a queue, computed from its journal. Pure: frames to frames.

A message is ended by the first event that ends it or, if it was replayed, by the first one after
the last replay. Columns `queue` and `partition` tell queues and partitions apart.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from duolog.records.changes import Cause
from duolog_pipelines.audit.events import DELIVERED, ENDED, REPLAYED, TRIMMED

THERE, REMOVED = "there", "removed"
FATES = {
    Cause.CONSUMED: "deleted",
    Cause.HANDED_OUT: "deleted",
    Cause.DEAD_LETTER: "dead_lettered",
    Cause.MOVED: "moved",
    Cause.UNREADABLE: "unreadable",
    Cause.EXPIRED: "expired",
    Cause.PURGED: "purged",
    Cause.REMOVED: REMOVED,
}
_AT = ("queue", "partition")
_STEP = 100_000
"""Offsets that one row stands for before it is exploded into one row for each."""
_NO_REPLAY = -1


def messages(ranges: DataFrame) -> DataFrame:
    """One row for each offset of ranges given by `offset` and `next_offset`; other columns stay."""
    last = F.col("next_offset") - 1
    pieces = ranges.where("offset < next_offset").withColumn(
        "piece", F.explode(F.sequence("offset", last, F.lit(_STEP)))
    )
    piece_last = F.least(F.col("piece") + _STEP - 1, last)
    exploded = F.explode(F.sequence("piece", piece_last))
    return pieces.withColumn("offset", exploded).drop("piece", "next_offset")


def clipped(events: DataFrame, epochs: DataFrame) -> DataFrame:
    """Events that concern messages which are in the log now.

    `epochs` gives, for each older leader epoch, the offset (`meant_offset`) up to which its events
    do: later leaders may have written other messages from there on.
    """
    known = events.join(F.broadcast(epochs), [*_AT, "epoch"], "left")
    end = F.least("next_offset", "meant_offset")
    return known.withColumn("next_offset", end).drop("meant_offset").where("offset < next_offset")


def fates(accepted: DataFrame, events: DataFrame) -> DataFrame:
    """Each message's fate, with the time and journal position of its end, the number of its
    deliveries and the time of the first.

    `accepted` has the log's `start_offset`, too.
    """
    replays = _replays(events)
    alive = _with_life(accepted, replays)
    single = _with_life(events.where(F.col("kind").isin(DELIVERED, ENDED)), replays)
    told = single.groupBy(*_AT, "offset").agg(
        F.sum(_is_delivery().cast("long")).alias("deliveries"),
        F.min(F.when(_is_delivery(), F.col("time_ms"))).alias("delivered_ms"),
        F.min(
            F.when(
                (F.col("kind") == ENDED) & (F.col("position") > F.col("life")),
                F.struct("position", "cause", "time_ms"),
            )
        ).alias("ended"),
    )
    known = _with_trims(alive, _steps(events, replays)).join(told, [*_AT, "offset"], "left")
    return known.withColumn("end", F.least("ended", "trim")).select(
        *_AT,
        "offset",
        _fate(F.col("end.cause")).alias("fate"),
        F.col("end.position").alias("ended_position"),
        F.col("end.time_ms").alias("ended_ms"),
        F.coalesce("deliveries", F.lit(0)).alias("deliveries"),
        "delivered_ms",
    )


def _is_delivery() -> Column:
    return (F.col("kind") == DELIVERED) | (F.col("cause") == int(Cause.HANDED_OUT))


def _fate(cause: Column) -> Column:
    unended = F.when(F.col("offset") < F.col("start_offset"), REMOVED).otherwise(THERE)
    named: Column = reduce(
        lambda chain, each: chain.when(cause == int(each[0]), each[1]),
        FATES.items(),
        F.when(cause.isNull(), unended),
    )
    return named.otherwise("unknown")


def _replays(events: DataFrame) -> DataFrame:
    """All replays of each partition in one row; replays are rare."""
    one = F.struct("position", "offset", "next_offset")
    return (
        events.where(F.col("kind") == REPLAYED)
        .groupBy(*_AT)
        .agg(F.collect_list(one).alias("replays"))
    )


def _with_life(rows: DataFrame, replays: DataFrame) -> DataFrame:
    """Add `life`: the position of the message's last replay, which begins a new life."""
    joined = rows.join(F.broadcast(replays), list(_AT), "left")
    covering = F.filter(
        "replays",
        lambda each: (each["offset"] <= F.col("offset")) & (F.col("offset") < each["next_offset"]),
    )
    last = F.array_max(F.transform(covering, lambda each: each["position"]))
    return joined.withColumn("life", F.coalesce(last, F.lit(_NO_REPLAY))).drop("replays")


def _steps(events: DataFrame, replays: DataFrame) -> DataFrame:
    """For each life, the trims that ended messages which no earlier trim had ended."""
    trims = events.where(F.col("kind") == TRIMMED)
    lives = F.concat(
        F.array(F.lit(_NO_REPLAY).cast("long")),
        F.coalesce(
            F.transform("replays", lambda each: each["position"]), F.array().cast("array<bigint>")
        ),
    )
    by_life = trims.join(F.broadcast(replays), list(_AT), "left").withColumn(
        "life", F.explode(lives)
    )
    before = (
        Window.partitionBy(*_AT, "life")
        .orderBy("position")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    reached = F.coalesce(F.max("next_offset").over(before), F.lit(0))
    return (
        by_life.where("position > life")
        .withColumn("reached", reached)
        .where("next_offset > reached")
        .select(*_AT, "life", "next_offset", F.struct("position", "cause", "time_ms").alias("trim"))
    )


def _with_trims(rows: DataFrame, steps: DataFrame) -> DataFrame:
    """Add `trim`: the first trim that ended the message.

    Trims of a life only rise, so that is the lowest one above the message: the last one met when
    both are walked from above.
    """
    marks = steps.select(
        *_AT, "life", (F.col("next_offset") - 1).alias("offset"), F.col("trim").alias("mark")
    )
    both = rows.withColumn("is_message", F.lit(True)).unionByName(
        marks.withColumn("is_message", F.lit(False)), allowMissingColumns=True
    )
    above = (
        Window.partitionBy(*_AT, "life")
        .orderBy(F.desc("offset"), F.asc("is_message"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    found = both.withColumn("trim", F.last("mark", ignorenulls=True).over(above))
    return found.where("is_message").drop("is_message", "mark")
