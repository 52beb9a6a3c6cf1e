"""Ours, through the Python client that the peers' rows are measured with too."""

from collections.abc import Sequence
from importlib.util import find_spec

from bench import kafka
from bench.peers.peer import ON_DISK, PAGE_CACHE, Trial
from bench.samples import Sample
from bench.stand import Durability, Stand

TOPIC = "peer"


def missing() -> str | None:
    return None if find_spec("confluent_kafka") else "the Python package confluent-kafka"


def trials() -> Sequence[Trial]:
    return [
        Trial("Duolog, os", PAGE_CACHE, lambda stand, n: run(stand, n, "os")),
        Trial("Duolog, fsync", ON_DISK, lambda stand, n: run(stand, n, "fsync")),
    ]


def run(stand: Stand, messages: int, durability: Durability) -> tuple[Sample, Sample]:
    from bench.peers import kafka_client

    with stand.broker(durability) as server:
        kafka.create_topic(server.host_and_port, TOPIC, partitions=1, configs={})
        produced = kafka_client.produce(server, TOPIC, messages)
        return produced, kafka_client.consume(server, TOPIC, messages)
