"""Apache Kafka in KRaft mode, one node or three, with the settings of its distribution."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import processes
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Contestant
from bench.drives.kafka import KafkaDrive
from bench.peers import maven
from bench.peers.peer import TopicServer
from bench.processes import Server
from bench.stand import Stand

NAME = "Apache Kafka"
VERSION = "4.3.1"
COORDINATES = f"org.apache.kafka:kafka_2.13:{VERSION}"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
JVM = (
    *("-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
    "-Djava.awt.headless=true",
)
"""As the distribution's kafka-server-start.sh has it."""
CONFIGURATION = "KRaft, the distribution's server.properties and JVM flags (1 GB of heap)"


def missing() -> str | None:
    return maven.missing(COORDINATES)


def server(*, on_disk: bool) -> TopicServer:
    configs = {"flush.messages": "1"} if on_disk else {}
    drive = KafkaDrive(configs)
    contestant = Contestant(
        f"{NAME}, flush.messages=1" if on_disk else NAME,
        VERSION,
        ON_DISK if on_disk else PAGE_CACHE,
        CONFIGURATION + ("; topics with flush.messages=1" if on_disk else ""),
        drive.client,
    )
    return TopicServer(contestant, lambda stand: serve(stand, "kafka-" + str(on_disk)), drive)


@contextmanager
def serve(stand: Stand, label: str, nodes: int = 1) -> Iterator[Server]:
    """One process that is measured, whose children are the nodes."""
    directory = stand.directory / label
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    ports = [(processes.free_port(), processes.free_port()) for _ in range(nodes)]
    classes = f"{maven.jars(COORDINATES)}/*"
    commands = []
    for number in range(1, nodes + 1):
        properties = directory / f"server-{number}.properties"
        properties.write_text(_properties(directory / f"data-{number}", number, ports))
        _run_java(classes, "kafka.tools.StorageTool", properties)
        java = " ".join(["java", *JVM, "-cp", f"'{classes}'", "kafka.Kafka", f"'{properties}'"])
        commands.append(f"{java} &")
    argv = ["sh", "-c", " ".join(commands) + " wait"]
    try:
        with processes.spawn(label, argv, log_path=directory / "log") as server:
            for port, _ in reversed(ports):
                processes.wait_for_port(server, port)
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run_java(classes: str, tool: str, properties: Path) -> None:
    argv: Sequence[str | Path] = ["java", "-cp", classes, tool, "format"]
    subprocess.run([*argv, "-t", CLUSTER_ID, "-c", properties], check=True, capture_output=True)


def _properties(data: Path, number: int, ports: Sequence[tuple[int, int]]) -> str:
    client_port, controller_port = ports[number - 1]
    voters = [f"{voter}@127.0.0.1:{port}" for voter, (_, port) in enumerate(ports, start=1)]
    replicas = str(len(ports))
    properties: Mapping[str, str] = {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "controller.quorum.voters": ",".join(voters),
        "listeners": f"PLAINTEXT://127.0.0.1:{client_port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client_port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
        "num.network.threads": "3",
        "num.io.threads": "8",
        "socket.send.buffer.bytes": "102400",
        "socket.receive.buffer.bytes": "102400",
        "num.recovery.threads.per.data.dir": "2",
        "offsets.topic.replication.factor": replicas,
    }
    return "".join(f"{name}={value}\n" for name, value in properties.items())
