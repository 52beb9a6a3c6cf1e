"""moto's server: a stand-in for tests, in Python and in memory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from bench import processes
from bench.processes import Server
from bench.stand import Stand

NAME = "moto"


def missing() -> str | None:
    """flask_cors is of the extra that has the server."""
    installed = find_spec("moto") and find_spec("flask_cors")
    return None if installed else "the Python package moto[server] is not installed"


def version() -> str:
    return metadata.version("moto")


@contextmanager
def serve(stand: Stand) -> Iterator[Server]:
    port = processes.free_port()
    argv: list[str | Path] = [Path(sys.executable).parent / "moto_server"]
    argv += ["--host", "127.0.0.1", "--port", str(port)]
    with processes.spawn(NAME, argv, log_path=stand.directory / "moto.log") as server:
        processes.wait_for_port(server, port)
        yield server
