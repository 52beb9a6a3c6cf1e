"""What is expected of queues. Pure."""

from collections.abc import Sequence

from bench.goal import NOT_ABOVE, Goal, against_floor, between, flat, ours

_STEPS = ("send", "receive", "delete")

QUEUE_GOALS: Sequence[Goal] = (
    *(
        Goal(
            f"{step}s a second, 1 KB, 16 connections, os mode, over the floor's requests",
            0.35,
            "x",
            against_floor(f"queues/{step}/1KB", "requests_per_s"),
            at_least=True,
            clocked=(f"queues/{step}/1KB",),
            noise="blurs",
            plausible=NOT_ABOVE,
        )
        for step in _STEPS
    ),
    *(
        Goal(
            f"messages a second of {step}s of ten, over {step}s of one",
            5.0,
            "x",
            between(f"queues/{step}10/1KB", f"queues/{step}/1KB", "messages_per_s"),
            at_least=True,
            clocked=(f"queues/{step}10/1KB", f"queues/{step}/1KB"),
            noise="blurs",
        )
        for step in _STEPS
    ),
    Goal(
        "p50 from send to receive by a parked long poll, fsync mode",
        2_000,
        "us",
        ours("queues/latency", "p50_us"),
        clocked=("queues/latency",),
    ),
    Goal(
        "p99 from send to receive by a parked long poll, fsync mode",
        10_000,
        "us",
        ours("queues/latency", "p99_us"),
        clocked=("queues/latency",),
    ),
    Goal(
        "CPU with 1,000,000 messages waiting, over with 1,000 (worst of three operations)",
        1.3,
        "x",
        flat("waiting", population_min=1_000_000),
    ),
    Goal(
        "CPU with 100,000 messages in flight, over with 1,000 (worst of three operations)",
        1.3,
        "x",
        flat("in-flight", population_min=100_000),
    ),
    Goal(
        "CPU with 10,000 queues, 100 busy, over with 100 (worst of three operations)",
        1.2,
        "x",
        flat("queues", population_min=10_000),
    ),
    Goal(
        "resident memory for a million messages of 100 B that wait",
        150,
        "MB",
        ours("queues/memory", "rss_mb", population_min=1_000_000),
    ),
    Goal(
        "messages a second sent to a FIFO queue, 100 groups, tens, fsync mode",
        3_000,
        "msg/s",
        ours("queues/fifo/send", "messages_per_s"),
        at_least=True,
        clocked=("queues/fifo/send",),
    ),
    Goal(
        "messages a second received and deleted from it",
        3_000,
        "msg/s",
        ours("queues/fifo/receive", "messages_per_s"),
        at_least=True,
        clocked=("queues/fifo/receive",),
    ),
)
