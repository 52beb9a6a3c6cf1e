"""Accounts for the messages of queues and the records of topics: reads, and calls pure parts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from duolog.model.names import QUEUE_STATE_PREFIX
from duolog_pipelines.audit.balance import ENDS, Counting, tallies, unaccounted
from duolog_pipelines.audit.events import POSITION_BITS
from duolog_pipelines.audit.events import SCHEMA as EVENTS
from duolog_pipelines.audit.fates import THERE, clipped, fates, messages
from duolog_pipelines.audit.journal_source import JournalSource
from duolog_pipelines.audit.opening import Opening
from duolog_pipelines.audit.scope import Nodes, Scope
from duolog_pipelines.pipeline import Stage

_RANGES = StructType(
    [
        StructField("queue", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("next_offset", LongType()),
        StructField("start_offset", LongType()),
    ]
)
_LOOKS = StructType(
    [
        StructField("queue", StringType()),
        StructField("partition", IntegerType()),
        StructField("looked_position", LongType()),
    ]
)
_EPOCHS = StructType(
    [
        StructField("queue", StringType()),
        StructField("partition", IntegerType()),
        StructField("epoch", IntegerType()),
        StructField("meant_offset", LongType()),
    ]
)

Openings = Mapping[tuple[str, int], Opening]


class Accounts(NamedTuple):
    fates: DataFrame
    """Fates of the messages of all queues; persisted."""
    balances: list[dict[str, Any]]
    """Rows of the balance table, for queues and topics."""
    coverage: list[tuple[Any, ...]]


def take(stage: Stage, nodes: Nodes, scope: Scope) -> Accounts:
    openings = {
        (queue.name, partition): nodes.opening(scope, queue, partition)
        for queue in scope.queues
        for partition, _, _ in scope.partitions(queue)
    }
    events = _events(stage, scope, openings).persist()
    try:
        meant = stage.spark.createDataFrame(_older_epochs(nodes, scope, events), _EPOCHS)
        ranges = stage.spark.createDataFrame(_ranges(scope, openings), _RANGES)
        ends = fates(messages(ranges), clipped(events, meant)).persist()
        rows = [*_queue_rows(stage, scope, openings, ends), *_topic_rows(stage, scope)]
    finally:
        events.unpersist()
    return Accounts(ends, rows, _coverage(scope, openings))


def _events(stage: Stage, scope: Scope, openings: Openings) -> DataFrame:
    first: dict[str, dict[str, int]] = {}
    end: dict[str, dict[str, int]] = {}
    for queue in scope.queues:
        for partition, _, journal in scope.partitions(queue):
            if journal is not None:
                begin = openings[queue.name, partition].journal_offset
                first.setdefault(queue.journal, {})[str(partition)] = begin
                end.setdefault(queue.journal, {})[str(partition)] = journal.end_offset
    if not first:
        frame = stage.spark.createDataFrame([], EVENTS)
    else:
        stage.spark.dataSource.register(JournalSource)
        assigned = {topic: [int(each) for each in known] for topic, known in first.items()}
        frame = (
            stage.spark.read.format(JournalSource.name())
            .option("kafka.bootstrap.servers", stage.bootstrap_servers)
            .option("assign", json.dumps(assigned))
            .option("startingOffsets", json.dumps(first))
            .option("endingOffsets", json.dumps(end))
            .load()
        )
    named = F.substring("topic", len(QUEUE_STATE_PREFIX) + 1, 1_000)
    return frame.withColumn("queue", named).drop("topic")


def _older_epochs(nodes: Nodes, scope: Scope, events: DataFrame) -> list[tuple[Any, ...]]:
    """Per partition with several leader epochs in its journal, the `meant_offset` of each older
    one."""
    epochs: dict[tuple[str, int], list[int]] = {}
    for row in events.select("queue", "partition", "epoch").distinct().collect():
        epochs.setdefault((row.queue, row.partition), []).append(row.epoch)
    topics = {queue.name: queue.topic for queue in scope.queues}
    return [
        (queue, partition, epoch, nodes.meant_offset(topics[queue], partition, epoch))
        for (queue, partition), known in epochs.items()
        for epoch in known
        if epoch < max(known)
    ]


def _ranges(scope: Scope, openings: Openings) -> list[tuple[Any, ...]]:
    rows = []
    for queue in scope.queues:
        for partition, bounds, _ in scope.partitions(queue):
            opening = openings[queue.name, partition]
            whole = [*opening.ranges, (opening.end_offset, bounds.end_offset)]
            rows += [(queue.name, partition, *each, bounds.start_offset) for each in whole]
    return rows


def _queue_rows(
    stage: Stage, scope: Scope, openings: Openings, ends: DataFrame
) -> list[dict[str, Any]]:
    looks = stage.spark.createDataFrame(_looks(scope), _LOOKS)
    told = {row.name: row.asDict() for row in tallies(ends, looks).collect()}
    rows = []
    for queue in scope.queues:
        row = told.get(queue.name) or dict.fromkeys(
            ("accepted", "delivered", "deliveries", *ENDS, THERE), 0
        )
        counting = Counting(queue.counted, scope.arrived(queue), row.pop("ended_meanwhile"))
        since = [openings[queue.name, each].since_ms for each, _, _ in scope.partitions(queue)]
        left = unaccounted(row[THERE], counting)
        rows.append(
            {
                **row,
                "name": queue.name,
                "kind": "queue",
                # Messages that the journal leaves but no node has count as unaccounted.
                THERE: row[THERE] - left,
                "unaccounted": left,
                "counted": queue.counted,
                "since_ms": max((each for each in since if each is not None), default=None),
                "audited_ms": stage.now_ms,
            }
        )
    return rows


def _looks(scope: Scope) -> list[tuple[str, int, int]]:
    """Journal positions of all partitions before the queues were counted."""
    looks = []
    for queue in scope.queues:
        before = scope.before.get(queue.journal)
        ends = {} if before is None else before.partitions
        for partition, _, _ in scope.partitions(queue):
            end_offset = ends[partition].end_offset if partition in ends else 0
            looks.append((queue.name, partition, end_offset << POSITION_BITS))
    return looks


def _topic_rows(stage: Stage, scope: Scope) -> list[dict[str, Any]]:
    """Balances of topics that are no queues: a record stays until the topic removes it."""
    queued = {queue.name for queue in scope.queues}
    rows = []
    for name, state in sorted(scope.after.items()):
        if name in queued or name.startswith(QUEUE_STATE_PREFIX):
            continue
        removed = sum(bounds.start_offset for bounds in state.partitions.values())
        there = sum(bounds.offset_count for bounds in state.partitions.values())
        rows.append(
            {
                **dict.fromkeys(ENDS, 0),
                "name": name,
                "kind": "topic",
                "accepted": removed + there,
                "removed": removed,
                THERE: there,
                "unaccounted": 0,
                "audited_ms": stage.now_ms,
            }
        )
    return rows


def _coverage(scope: Scope, openings: Openings) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for queue in scope.queues:
        for partition, bounds, _ in scope.partitions(queue):
            opening = openings[queue.name, partition]
            opened = sum(end - first for first, end in opening.ranges)
            rows.append(
                (
                    queue.name,
                    partition,
                    opening.since_ms is None,
                    opening.since_ms,
                    opened,
                    opening.journal_offset,
                    bounds.start_offset,
                    bounds.end_offset,
                )
            )
    return rows


def ends_of(scope: Scope, topics: Sequence[str]) -> list[tuple[str, int, int]]:
    return [
        (name, partition, bounds.end_offset)
        for name in topics
        for partition, bounds in scope.after[name].partitions.items()
    ]
