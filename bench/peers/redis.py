"""Redis streams with the append-only file."""

import shutil
from collections.abc import Sequence
from importlib.util import find_spec

from bench import processes
from bench.peers.peer import MESSAGE, ON_DISK, PAGE_CACHE, WINDOW, Trial, timed
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

STREAM = "peer"


def missing() -> str | None:
    if not shutil.which("redis-server"):
        return "redis-server"
    return None if find_spec("redis") else "the Python package redis"


def trials() -> Sequence[Trial]:
    return [
        Trial("Redis stream, everysec", PAGE_CACHE, lambda stand, n: run(stand, n, "everysec")),
        Trial("Redis stream, always", ON_DISK, lambda stand, n: run(stand, n, "always")),
    ]


def run(stand: Stand, messages: int, appendfsync: str) -> tuple[Sample, Sample]:
    directory = stand.directory / "redis"
    directory.mkdir()
    port = processes.free_port()
    argv = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(directory)]
    argv += ["--appendonly", "yes", "--appendfsync", appendfsync, "--save", ""]
    try:
        with processes.spawn("Redis", argv, log_path=directory / "log") as server:
            processes.wait_for_port(server, port)
            produced = timed(server, messages, lambda: _produce(server, messages))
            return produced, timed(server, messages, lambda: _consume(server, messages))
    finally:
        shutil.rmtree(directory)


def _produce(server: Server, messages: int) -> None:
    import redis

    host, port = server.host_and_port
    with redis.Redis(host, port) as client:
        for start in range(0, messages, WINDOW):
            pipeline = client.pipeline(transaction=False)
            for _ in range(min(WINDOW, messages - start)):
                pipeline.xadd(STREAM, {"v": MESSAGE})
            pipeline.execute()


def _consume(server: Server, messages: int) -> None:
    import redis

    host, port = server.host_and_port
    seen, last = 0, b"0"
    with redis.Redis(host, port) as client:
        while seen < messages:
            ((_, entries),) = client.xread({STREAM: last}, count=WINDOW)
            seen += len(entries)
            last = entries[-1][0]
