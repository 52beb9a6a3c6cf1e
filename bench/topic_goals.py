"""What is expected of topics, and of a node that has many. Pure."""

from collections.abc import Sequence

from bench.goal import NOT_ABOVE, NOT_BELOW, Goal, against_floor, between, ours

TOPIC_GOALS: Sequence[Goal] = (
    Goal(
        "broker CPU per MB produced in 1 MB batches, over the floor's",
        1.5,
        "x",
        against_floor("produce/1MB/1p", "cpu_ms_per_mb"),
        plausible=NOT_BELOW,
    ),
    Goal(
        "broker CPU per MB fetched, over the floor's",
        1.5,
        "x",
        against_floor("consume/1MB/1p", "cpu_ms_per_mb"),
        plausible=NOT_BELOW,
    ),
    Goal(
        "broker CPU of a one-record Produce, os mode, 4 connections, unpipelined",
        25,
        "us",
        ours("requests/4x1", "cpu_us_per_request"),
    ),
    Goal(
        "broker CPU of a one-record Produce, os mode, 4 connections x 60 deep",
        10,
        "us",
        ours("requests/4x60", "cpu_us_per_request"),
    ),
    Goal(
        "p99 of a one-record Produce, 4 connections",
        1000,
        "us",
        ours("requests/4x1", "p99_us"),
        clocked=("requests/4x1",),
    ),
    Goal(
        "share of a core at librdkafka's top speed, 1 KB default batching, os mode",
        0.70,
        "cores",
        ours("produce/1KB/default/1p", "cpu_share"),
        clocked=("produce/1KB/default/1p",),
        noise="blurs",
    ),
    Goal(
        "fsync throughput over os throughput, 1 KB default batching",
        0.70,
        "x",
        between("fsync/1KB/fsync", "fsync/1KB/os", "mb_per_s"),
        at_least=True,
        clocked=("fsync/1KB/fsync", "fsync/1KB/os"),
        noise="blurs",
        plausible=NOT_ABOVE,
    ),
    Goal(
        "p99 of a lone fsync request, in p99 fdatasyncs of the same disk",
        2.0,
        "x",
        between("fsync/lone/fsync", "fsync/fdatasync", "p99_us"),
        clocked=("fsync/lone/fsync",),
        plausible=NOT_BELOW,
    ),
    Goal(
        "time to ready with 1,000 partitions and 10 GB after SIGKILL",
        5.0,
        "s",
        ours("backlog/start", "seconds", stored_gb_min=10.0),
        clocked=("backlog/start",),
    ),
    Goal("resident memory, idle", 150, "MB", ours("backlog/idle", "rss_mb")),
    Goal(
        "resident memory, 1,000 partitions, 200 connections reading the backlog",
        400,
        "MB",
        ours("backlog/reading", "rss_mb", stored_gb_min=10.0),
    ),
)
