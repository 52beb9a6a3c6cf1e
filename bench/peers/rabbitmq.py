"""RabbitMQ: quorum queues, which fsync before confirming, and streams, which do not."""

import os
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import processes
from bench.peers.peer import MESSAGE, ON_DISK, PAGE_CACHE, WINDOW, Trial, timed
from bench.processes import Server
from bench.samples import Sample
from bench.stand import Stand

QUEUE = "peer"
ACK_EVERY = 100
UNWRAPPED = "/usr/lib/rabbitmq/bin"


def missing() -> str | None:
    if not _program() or not shutil.which("epmd"):
        return "rabbitmq-server"
    return None if find_spec("pika") else "the Python package pika"


def trials() -> Sequence[Trial]:
    return [
        Trial("RabbitMQ stream", PAGE_CACHE, lambda stand, n: run(stand, n, "stream")),
        Trial("RabbitMQ quorum queue", ON_DISK, lambda stand, n: run(stand, n, "quorum")),
    ]


def run(stand: Stand, messages: int, kind: str) -> tuple[Sample, Sample]:
    directory = stand.directory / "rabbitmq"
    directory.mkdir()
    port, log_path = processes.free_port(), directory / "log"
    environment = _environment(directory, port)
    argv = [_program() or ""]
    # Erlang would leave a port mapper behind as a daemon; one of our own ends with the run.
    with (
        processes.spawn("epmd", ["epmd"], log_path=log_path, environment=environment),
        processes.spawn("RabbitMQ", argv, log_path=log_path, environment=environment) as server,
    ):
        processes.wait_for_port(server, port)
        _declare(server, kind)
        produced = timed(server, messages, lambda: _Publisher(server, messages).run())
        consumed = timed(server, messages, lambda: _consume(server, messages, kind))
    shutil.rmtree(directory)
    return produced, consumed


def _program() -> str | None:
    """Debian's wrapper in the path changes to a user who may not write to our directory."""
    return shutil.which("rabbitmq-server", path=UNWRAPPED) or shutil.which("rabbitmq-server")


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


def _parameters(server: Server) -> Any:
    import pika

    host, port = server.host_and_port
    return pika.ConnectionParameters(host, port)


def _declare(server: Server, kind: str) -> None:
    import pika

    with pika.BlockingConnection(_parameters(server)) as connection:
        connection.channel().queue_declare(QUEUE, durable=True, arguments={"x-queue-type": kind})


class _Publisher:
    """Publishes with a window: pika's blocking channel would wait for each confirm."""

    def __init__(self, server: Server, messages: int) -> None:
        import pika

        self._messages = messages
        self._sent = self._confirmed = 0
        self._properties = pika.BasicProperties(delivery_mode=2)
        self._failure: BaseException | None = None
        self._connection = pika.SelectConnection(
            _parameters(server),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._opened),
            on_open_error_callback=self._stop,
            on_close_callback=self._stop,
        )

    def run(self) -> None:
        self._connection.ioloop.start()
        assert self._confirmed == self._messages, f"publishing ended early: {self._failure}"

    def _opened(self, channel: Any) -> None:
        self._channel = channel
        channel.confirm_delivery(self._on_confirm, callback=lambda _: self._fill())

    def _on_confirm(self, frame: Any) -> None:
        method = frame.method
        if method.NAME != "Basic.Ack":
            self._connection.close()
            return
        # Tags count from one, so a cumulative confirm names how many are through.
        self._confirmed = method.delivery_tag if method.multiple else self._confirmed + 1
        if self._confirmed == self._messages:
            self._connection.close()
        else:
            self._fill()

    def _fill(self) -> None:
        while self._sent < self._messages and self._sent - self._confirmed < WINDOW:
            self._channel.basic_publish("", QUEUE, MESSAGE, self._properties)
            self._sent += 1

    def _stop(self, connection: Any, reason: BaseException) -> None:
        self._failure = reason
        connection.ioloop.stop()


def _consume(server: Server, messages: int, kind: str) -> None:
    import pika

    arguments = {"x-stream-offset": "first"} if kind == "stream" else {}
    with pika.BlockingConnection(_parameters(server)) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=WINDOW)
        deliveries = channel.consume(QUEUE, arguments=arguments)
        for seen, (method, _, _) in enumerate(deliveries, start=1):
            if seen % ACK_EVERY == 0 or seen == messages:
                channel.basic_ack(method.delivery_tag, multiple=True)
            if seen == messages:
                break
        channel.cancel()
