"""Apache Kafka in KRaft mode, from the unpacked distribution that KAFKA_HOME names."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench import kafka, processes
from bench.peers.peer import ON_DISK, PAGE_CACHE, Trial
from bench.samples import Sample
from bench.stand import Stand

TOPIC = "peer"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


def missing() -> str | None:
    if "KAFKA_HOME" not in os.environ:
        return "KAFKA_HOME"
    return None if find_spec("confluent_kafka") else "the Python package confluent-kafka"


def trials() -> Sequence[Trial]:
    return [
        Trial("Apache Kafka", PAGE_CACHE, lambda stand, n: run(stand, n, {})),
        Trial(
            "Apache Kafka, flush.messages=1",
            ON_DISK,
            lambda stand, n: run(stand, n, {"flush.messages": "1"}),
        ),
    ]


def run(stand: Stand, messages: int, configs: dict[str, str]) -> tuple[Sample, Sample]:
    from bench.peers import kafka_client

    home, directory = Path(os.environ["KAFKA_HOME"]), stand.directory / "apache-kafka"
    directory.mkdir()
    client_port, controller_port = processes.free_port(), processes.free_port()
    properties = directory / "server.properties"
    properties.write_text(_properties(directory / "data", client_port, controller_port))
    subprocess.run(
        [home / "bin/kafka-storage.sh", "format", "-t", CLUSTER_ID, "-c", properties],
        check=True,
        capture_output=True,
    )
    argv = [home / "bin/kafka-server-start.sh", properties]
    try:
        with processes.spawn("Kafka", argv, log_path=directory / "log") as server:
            processes.wait_for_port(server, client_port)
            kafka.create_topic(server.host_and_port, TOPIC, partitions=1, configs=configs)
            produced = kafka_client.produce(server, TOPIC, messages)
            return produced, kafka_client.consume(server, TOPIC, messages)
    finally:
        shutil.rmtree(directory)


def _properties(data: Path, client_port: int, controller_port: int) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{client_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{client_port}
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
"""
