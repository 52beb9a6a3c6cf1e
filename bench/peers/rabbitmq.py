"""RabbitMQ: quorum queues, which fsync before confirming, and streams, which do not."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from bench import processes
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Contestant
from bench.drives.amqp import AmqpDialect
from bench.drives.wire import WireDrive
from bench.peers.peer import TopicServer
from bench.processes import Server
from bench.stand import Stand

NAME = "RabbitMQ"
UNWRAPPED = "/usr/lib/rabbitmq/bin"
"""Debian's wrapper in the path changes to a user who may not write to our directory."""


def missing() -> str | None:
    if not _program("rabbitmq-server") or not shutil.which("epmd"):
        return "rabbitmq-server is not installed"
    return None if find_spec("pika") else "the Python package pika is not installed"


def version() -> str:
    argv = [_program("rabbitmqctl") or "", "version"]
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()


def server(*, on_disk: bool) -> TopicServer:
    kind, what = ("quorum", "quorum queue") if on_disk else ("stream", "stream")
    drive = WireDrive(AmqpDialect(kind))
    contestant = Contestant(
        f"{NAME} {what}",
        version(),
        ON_DISK if on_disk else PAGE_CACHE,
        f"a {what} of one member, over AMQP 0-9-1; persistent messages, confirms",
        drive.client,
    )
    return TopicServer(contestant, lambda stand: serve(stand, kind), drive)


@contextmanager
def serve(stand: Stand, label: str) -> Iterator[Server]:
    directory = stand.directory / f"rabbitmq-{label}"
    directory.mkdir()
    port, log_path = processes.free_port(), directory / "log"
    environment = _environment(directory, port)
    argv = [_program("rabbitmq-server") or ""]
    try:
        # Erlang would leave a port mapper behind as a daemon; one of our own ends with the run.
        with (
            processes.spawn("epmd", ["epmd"], log_path=log_path, environment=environment),
            processes.spawn(NAME, argv, log_path=log_path, environment=environment) as server,
        ):
            processes.wait_for_port(server, port)
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _program(name: str) -> str | None:
    return shutil.which(name, path=UNWRAPPED) or shutil.which(name)


def _environment(directory: Path, port: int) -> dict[str, str]:
    return os.environ | {
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(processes.free_port()),
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(processes.free_port()),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "logs"),
        "RABBITMQ_PID_FILE": str(directory / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
    }
