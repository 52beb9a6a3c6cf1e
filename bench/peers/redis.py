"""Redis streams with the append-only file."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from bench import processes
from bench.comparison.standing import ON_DISK, PAGE_CACHE, Contestant
from bench.drives.redis import RedisDialect
from bench.drives.wire import WireDrive
from bench.peers.peer import TopicServer
from bench.processes import Server
from bench.stand import Stand

NAME = "Redis streams"
PROGRAM = "redis-server"


def missing() -> str | None:
    if not shutil.which(PROGRAM):
        return f"{PROGRAM} is not installed"
    return None if find_spec("redis") else "the Python package redis is not installed"


def server(*, on_disk: bool) -> TopicServer:
    appendfsync = "always" if on_disk else "everysec"
    drive = WireDrive(RedisDialect())
    contestant = Contestant(
        f"{NAME}, {appendfsync}",
        _version(),
        ON_DISK if on_disk else PAGE_CACHE,
        f"append-only file, appendfsync {appendfsync}, no snapshots",
        drive.client,
    )
    return TopicServer(contestant, lambda stand: _serve(stand, appendfsync), drive)


@contextmanager
def _serve(stand: Stand, appendfsync: str) -> Iterator[Server]:
    directory = stand.directory / f"redis-{appendfsync}"
    directory.mkdir()
    port = processes.free_port()
    argv = [PROGRAM, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(directory)]
    argv += ["--appendonly", "yes", "--appendfsync", appendfsync, "--save", ""]
    try:
        with processes.spawn(NAME, argv, log_path=directory / "log") as server:
            processes.wait_for_port(server, port)
            yield server
    finally:
        shutil.rmtree(directory)


def _version() -> str:
    """Out of "Redis server v=7.0.15 sha=..."."""
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    return said.partition("v=")[2].split()[0]
