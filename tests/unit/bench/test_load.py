"""The load generator against servers that answer as those of other protocols do."""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from bench.drives.amqp import AmqpDialect
from bench.drives.dialect import TAKEN, Talk, payload
from bench.drives.nats import NatsDialect
from bench.drives.redis import RedisDialect

SOURCES = Path(__file__).parents[3] / "bench"
REQUESTS = 100
SECONDS_MAX = 30

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler")


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("load") / "load"
    subprocess.run(["gcc", "-o", target, SOURCES / "load.c"], check=True)
    return target


@contextmanager
def answering(talk: Talk, answer: Callable[[int], bytes]) -> Iterator[int]:
    """Answers the requests of one connection, by their number from 1; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            stream = connection.makefile("rb")
            stream.read(len(talk.hello))
            for number in range(1, REQUESTS + 1):
                stream.read(len(talk.request))
                connection.sendall(answer(number))
            stream.read()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield int(listener.getsockname()[1])
    thread.join(SECONDS_MAX)
    listener.close()


def run(load: Path, directory: Path, talk: Talk, port: int, depth: int) -> dict[str, Any]:
    (directory / "request").write_bytes(talk.request)
    (directory / "hello").write_bytes(talk.hello or b"")
    argv = [load, "--port", str(port), "--request", directory / "request", *talk.framing]
    argv += ["--hello", directory / "hello"] if talk.hello else []
    argv += ["--count", str(REQUESTS), "--depth", str(depth), "--seconds", "10"]
    done = subprocess.run(argv, capture_output=True, timeout=SECONDS_MAX, check=True)
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def confirm(tag: int, *, multiple: bool) -> bytes:
    return pack(">BHIHHQBB", 1, 1, 13, 60, 80, tag, multiple, 0xCE)


def delivery() -> bytes:
    method = pack(">HHB", 60, 60, 0) + pack(">QB", 1, 0) + b"\x00\x00"
    body = payload(200)
    return b"".join(
        pack(">BHI", kind, 1, len(part)) + part + b"\xce"
        for kind, part in ((1, method), (2, bytes(14)), (3, body))
    )


def test_an_answer_of_redis_is_counted_once(load: Path, tmp_path: Path) -> None:
    talk = RedisDialect().publish("t", payload(100))
    with answering(talk, lambda number: b"$15\r\n1700000000000-0\r\n") as port:
        assert run(load, tmp_path, talk, port, depth=7)["requests"] == REQUESTS


def test_what_nats_says_at_first_is_no_answer(load: Path, tmp_path: Path) -> None:
    talk = NatsDialect().publish("t", payload(100))

    def answer(number: int) -> bytes:
        greeting = b"INFO {}\r\nPING\r\n" if number == 1 else b""
        return greeting + b"MSG _INBOX.~0000 1 2\r\n{}\r\n"

    with answering(talk, answer) as port:
        assert run(load, tmp_path, talk, port, depth=1)["requests"] == REQUESTS


def test_a_confirm_of_rabbitmq_may_be_for_several(load: Path, tmp_path: Path) -> None:
    talk = AmqpDialect("quorum").publish("t", payload(100))

    def answer(number: int) -> bytes:
        if number % 10 == 0:
            return confirm(number, multiple=True)
        return confirm(number, multiple=False) if number % 10 == 1 else b""

    with answering(talk, answer) as port:
        assert run(load, tmp_path, talk, port, depth=20)["requests"] == REQUESTS


def test_deliveries_of_rabbitmq_answer_together(load: Path, tmp_path: Path) -> None:
    talk = AmqpDialect("stream").take(("127.0.0.1", 0), "t")
    with answering(talk, lambda number: delivery() * TAKEN) as port:
        assert run(load, tmp_path, talk, port, depth=2)["requests"] == REQUESTS
