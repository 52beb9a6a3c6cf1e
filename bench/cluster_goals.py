"""What is expected of three nodes on one machine. Pure."""

from collections.abc import Sequence

from bench.goal import Goal, against_floor, ours

CLUSTER_GOALS: Sequence[Goal] = (
    Goal(
        "acknowledged 1 KB messages, three nodes, acks=all, fsync, over one node's",
        0.25,
        "x",
        against_floor("cluster/produce", "mb_per_s"),
        at_least=True,
        clocked=("cluster/produce",),
        noise="blurs",
    ),
    Goal(
        "p99 end to end at 1,000 messages a second, three nodes, fsync",
        15_000,
        "us",
        ours("cluster/latency", "p99_us"),
        clocked=("cluster/latency",),
    ),
    Goal(
        "p50 until writes resume after SIGKILL of a leader, 100 partitions",
        2_500_000,
        "us",
        ours("cluster/fail-over", "p50_us"),
    ),
    Goal(
        "p99 until writes resume after SIGKILL of a leader, 100 partitions",
        4_000_000,
        "us",
        ours("cluster/fail-over", "p99_us"),
    ),
    Goal(
        "until all writes resume after SIGKILL of a leader and of etcd's leader",
        7.0,
        "s",
        ours("cluster/fail-over-etcd", "seconds"),
    ),
    Goal(
        "until another controller has decided, 1,000 partitions",
        3.0,
        "s",
        ours("cluster/controller", "seconds", population_min=1_000),
    ),
)
