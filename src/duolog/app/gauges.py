"""Metrics read from the broker's state at the moment they are asked for."""

from collections.abc import Callable, Iterator

from duolog.adapters.tcp import TcpListener
from duolog.broker.broker import Broker
from duolog.broker.housekeeping import Housekeeping
from duolog.observe.log_stream import LogStream
from duolog.observe.long_turns import LongTurns
from duolog.observe.metrics import Metrics, Sample

NS_PER_S = 1_000_000_000


def register_gauges(
    metrics: Metrics, broker: Broker, housekeeping: Housekeeping, listener: TcpListener
) -> None:
    metrics.gauge(
        "duolog_connections", "Open Kafka connections.", lambda: listener.connection_count
    )
    metrics.counter(
        "duolog_partition_bytes_in", "Bytes of batches appended.", lambda: broker.bytes_in
    )
    metrics.counter(
        "duolog_partition_bytes_out", "Bytes of batches fetched.", lambda: broker.bytes_out
    )
    metrics.gauge(
        "duolog_partition_count", "Partitions of this node.", lambda: broker.partition_count
    )
    metrics.gauge(
        "duolog_quarantined_batches",
        "Damaged batches in quarantine.",
        lambda: housekeeping.quarantined,
    )
    metrics.gauge(
        "duolog_disk_free_bytes",
        "Free bytes of the data directory's file system.",
        broker.disk.free_bytes,
    )
    metrics.gauge(
        "duolog_disk_full",
        "1 while the disk is full, so that no new messages are taken.",
        lambda: int(broker.reserve.is_full),
    )
    metrics.detail("topic", lambda name: _topic_samples(broker, name))
    metrics.detail("group", lambda name: _group_samples(broker, name))


def register_peer_gauges(metrics: Metrics, unreachable: Callable[[], int]) -> None:
    metrics.gauge(
        "duolog_unreachable_peers",
        "Other nodes that this one has tried for two seconds, and heard nothing of.",
        unreachable,
    )


def register_process_gauges(metrics: Metrics, logged: LogStream, turns: LongTurns) -> None:
    metrics.counter(
        "duolog_log_lines_lost", "Log lines that could not be written.", lambda: logged.lost
    )
    metrics.counter(
        "duolog_long_turns",
        "Turns of the event loop that used more than 50 ms of CPU.",
        lambda: turns.count,
    )
    metrics.gauge(
        "duolog_longest_turn_seconds",
        "CPU time of the longest turn of the event loop since the start, if over 50 ms.",
        lambda: turns.longest_ns / NS_PER_S,
    )


def _topic_samples(broker: Broker, name: str) -> Iterator[Sample] | None:
    topic = broker.catalog.topics.get(name)
    if topic is None:
        return None
    return (
        sample
        for index in range(topic.partitions)
        for sample in _partition_samples(broker, name, index)
    )


def _partition_samples(broker: Broker, name: str, index: int) -> Iterator[Sample]:
    partition = broker.partition(name, index)
    labels = {"topic": name, "partition": str(index)}
    for series, doc, value, counter in (
        ("start_offset", "First offset.", partition.log.start_offset, False),
        ("end_offset", "Next offset to be written.", partition.log.end_offset, False),
        ("high_watermark", "End of the committed records.", partition.high_watermark, False),
        ("size_bytes", "Bytes on disk.", partition.log.size_bytes, False),
        ("bytes_in_total", "Bytes produced since the start.", partition.bytes_in, True),
        ("bytes_out_total", "Bytes fetched since the start.", partition.bytes_out, True),
    ):
        yield Sample(f"duolog_partition_{series}", doc, labels, value, counter)


def _group_samples(broker: Broker, name: str) -> Iterator[Sample] | None:
    group = broker.groups.find(name)
    if group is None:
        return None
    return (
        Sample(
            "duolog_consumer_group_lag",
            "Records from the group's committed offset up to the high watermark.",
            {"group": name, "topic": at.topic, "partition": str(at.partition)},
            max(0, partition.high_watermark - committed.offset),
        )
        for at, committed in group.ledger.offsets.items()
        if (partition := broker.routes.get((at.topic, at.partition))) is not None
    )
