"""What became of each message of a queue, from its journal. Pure: frames to frames.

A message is ended by the first thing that ends it, unless a replay brought it back: then by
the first one after that. Queues are told by `queue`, and their partitions by `partition`.
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
"""Offsets that one row stands for before it becomes so many rows."""
_NO_REPLAY = -1


def messages(ranges: DataFrame) -> DataFrame:
    """A row for each offset of ranges with `offset` and `next_offset`; other columns stay."""
    last = F.col("next_offset") - 1
    pieces = ranges.where("offset < next_offset").withColumn(
        "piece", F.explode(F.sequence("offset", last, F.lit(_STEP)))
    )
    piece_last = F.least(F.col("piece") + _STEP - 1, last)
    exploded = F.explode(F.sequence("piece", piece_last))
    return pieces.withColumn("offset", exploded).drop("piece", "next_offset")


def clipped(events: DataFrame, epochs: DataFrame) -> DataFrame:
    """Events about the messages that are in the log now.

    `epochs` says up to which offset (`meant_offset`) what a leader of an older epoch wrote is
    still about the same messages: later leaders may have written others at their offsets.
    """
    known = events.join(F.broadcast(epochs), [*_AT, "epoch"], "left")
    end = F.least("next_offset", "meant_offset")
    return known.withColumn("next_offset", end).drop("meant_offset").where("offset < next_offset")


def fates(accepted: DataFrame, events: DataFrame) -> DataFrame:
    """Each message with its fate, when and at which position of the journal it was ended, and
    how often and when first it was delivered. `accepted` has the log's `start_offset`, too."""
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
    """Those of each partition in one row; few people ever replay anything."""
    one = F.struct("position", "offset", "next_offset")
    return (
        events.where(F.col("kind") == REPLAYED)
        .groupBy(*_AT)
        .agg(F.collect_list(one).alias("replays"))
    )


def _with_life(rows: DataFrame, replays: DataFrame) -> DataFrame:
    """`life` is the position of the last replay of a message, which begins it anew."""
    joined = rows.join(F.broadcast(replays), list(_AT), "left")
    covering = F.filter(
        "replays",
        lambda each: (each["offset"] <= F.col("offset")) & (F.col("offset") < each["next_offset"]),
    )
    last = F.array_max(F.transform(covering, lambda each: each["position"]))
    return joined.withColumn("life", F.coalesce(last, F.lit(_NO_REPLAY))).drop("replays")


def _steps(events: DataFrame, replays: DataFrame) -> DataFrame:
    """For each life, the trims that ended messages which none before them had ended."""
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
    """`trim` is the first one that a message lies below.

    Steps only rise, so that it is the lowest one above the message: the last that is met when
    both are gone through from above.
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
