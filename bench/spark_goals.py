"""What is expected of the Spark connector on two cores. Pure."""

from collections.abc import Sequence

from bench.goal import Goal, against_floor, between, ours

SPARK_GOALS: Sequence[Goal] = (
    Goal(
        "Spark streaming read through the broker, over one Arrow batch repeated",
        0.60,
        "x",
        against_floor("spark/read/broker", "mb_per_s"),
        at_least=True,
        clocked=("spark/read/broker",),
        noise="blurs",
    ),
    Goal(
        "Spark streaming read through the broker, over aiokafka's, record by record",
        2.5,
        "x",
        between("spark/read/broker", "spark/read/aiokafka", "mb_per_s"),
        at_least=True,
        clocked=("spark/read/broker", "spark/read/aiokafka"),
        noise="blurs",
    ),
    Goal(
        "Spark streaming read of sealed segments, over that through the broker",
        1.3,
        "x",
        between("spark/read/segments", "spark/read/broker", "mb_per_s"),
        at_least=True,
        clocked=("spark/read/segments", "spark/read/broker"),
        noise="blurs",
    ),
    Goal(
        "Spark's CPU of a row written to one node: 300,000 rows a second for each core",
        1e6 / 300_000,
        "us",
        ours("spark/write", "cpu_us_per_message"),
    ),
    Goal(
        "a day of ten million usage lines, taken up and summed",
        90,
        "s",
        ours("spark/usage", "seconds", population_min=10_000_000),
        clocked=("spark/usage",),
    ),
    Goal(
        "resident memory of the pipeline meanwhile",
        3_000,
        "MB",
        ours("spark/usage", "rss_mb", population_min=10_000_000),
    ),
    Goal(
        "resident memory of Spark's driver and tasks, 1 GB of heap, reading 10 GB",
        2_500,
        "MB",
        ours("spark/memory", "rss_mb", stored_gb_min=9.9),
    ),
    Goal(
        "memory that Spark keeps while reading a backlog, over that reading a tenth of it",
        1.1,
        "x",
        against_floor("spark/memory/kept", "rss_mb"),
    ),
)
