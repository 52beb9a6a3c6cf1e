"""The test stand: the directory, the tools and the servers that workloads measure with."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from bench import driver, http_load, kafka, memory, processes
from bench.compiler import Tools
from bench.driver import Shape, Traffic
from bench.http_load import HttpShape
from bench.processes import Server
from bench.requests import Request
from bench.samples import Sample

Durability = Literal["os", "fsync"]
Door = Literal["kafka", "sqs"]
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
FLOOR, HTTP_FLOOR, MOCK = "floor", "HTTP floor", "mock"
MOCKED_TOPIC = "mocked"
MOCK_SECONDS_MAX = 3600
_DELETE_SECONDS_MAX = 3.0
_CLEAR_SECONDS = 0.1
_DELETE_AT_ONCE = {"file.delete.delay.ms": "0"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything: `--quick` trades steadiness for time."""

    rounds: int
    bytes_per_run: int
    seconds_per_run: float
    latency_seconds: float
    backlog_bytes: int
    every_size: bool = True
    """Whether librdkafka is run with all sizes of messages, or with 1 KB only."""
    backlog_partitions: int = 1000
    backlog_connections: int = 200
    queue_messages: int = 20_000
    """In each run; with what is in flight already, below the 120,000 that a queue allows."""
    queue_waiting: int = 1_000_000
    queue_in_flight: int = 100_000
    queues: int = 10_000
    fifo_messages: int = 20_000
    usage_lines_each: int = 579
    """In each of the 17,280 intervals of a day: ten million lines together."""
    preheat_seconds: float = 0.3
    """For each load of a comparison, before it is warmed up; more for some."""
    seconds_max: float = 120.0
    """Beyond this a run is stopped, whatever its count."""


def duolog() -> Path:
    """The command, as it is installed with this Python."""
    return Path(sys.executable).parent / "duolog"


@dataclass(frozen=True, slots=True)
class Stand:
    directory: Path
    """Everything written lies below it, so it decides which disk is measured."""
    tools: Tools
    scale: Scale
    progress: Callable[[str], None]

    @contextmanager
    def broker(
        self,
        durability: Durability,
        *,
        keep: bool = False,
        door: Door = "kafka",
        label: str = "",
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Server]:
        """Serves from a data directory that is fresh, and gone afterwards unless kept.

        Two that serve at the same time differ in durability or label.
        """
        name = f"broker-{durability}{label}"
        data, ready = self.directory / name, self.directory / f"{name}.ready"
        log_path = self.directory / f"{name}.log"
        argv: list[str | Path] = [duolog(), "serve"]
        argv += ["--data", data, "--kafka", "127.0.0.1:0", "--sqs", "127.0.0.1:0"]
        argv += ["--admin", "127.0.0.1:0", "--ready-file", ready]
        for setting, value in {"topic.durability": durability, **settings}.items():
            argv += ["--set", f"{setting}={value}"]
        if not keep:
            shutil.rmtree(data, ignore_errors=True)
        try:
            with processes.start(
                "duolog", argv, ready_file=ready, log_path=log_path, door=door
            ) as server:
                yield server
        finally:
            if not keep:
                shutil.rmtree(data, ignore_errors=True)

    @contextmanager
    def floor(
        self, mode: Literal["write", "fsync", "read"], *extra: str | Path
    ) -> Iterator[Server]:
        directory = self.directory / f"floor-{mode}"
        directory.mkdir(exist_ok=True)
        ready = self.directory / f"floor-{mode}.ready"
        argv: list[str | Path] = [sys.executable, "-m", "bench.floor", mode]
        argv += ["--directory", directory, "--ready-file", ready, *extra]
        log_path = self.directory / f"floor-{mode}.log"
        try:
            with processes.start(FLOOR, argv, ready_file=ready, log_path=log_path) as server:
                yield server
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    @contextmanager
    def http_floor(self) -> Iterator[Server]:
        ready, log_path = self.directory / "http-floor.ready", self.directory / "http-floor.log"
        argv: list[str | Path] = [sys.executable, "-m", "bench.http_floor"]
        argv += ["--ready-file", ready]
        with processes.start(
            HTTP_FLOOR, argv, ready_file=ready, log_path=log_path, door="sqs"
        ) as server:
            yield server

    @contextmanager
    def mock(self, partitions: int) -> Iterator[Server]:
        """librdkafka's own in-memory broker, in C and in its own process."""
        assert self.tools.rdkafka_load is not None
        ready = self.directory / "mock.ready"
        argv: list[str | Path] = [self.tools.rdkafka_load, "mock", "--topic", MOCKED_TOPIC]
        argv += ["--partitions", str(partitions), "--ready-file", ready]
        argv += ["--seconds", str(MOCK_SECONDS_MAX)]
        log_path = self.directory / "mock.log"
        with processes.start(MOCK, argv, ready_file=ready, log_path=log_path) as server:
            yield server

    @contextmanager
    def topic(self, server: Server, name: str, partitions: int = 1) -> Iterator[str]:
        """A topic for one run. What the run wrote is dropped at its end, so that the next one
        does not meet a page cache full of it."""
        name = name.replace("/", "-")
        memory.touch(self.scale.bytes_per_run * 3 // 2)
        if server.name == MOCK:
            yield MOCKED_TOPIC
        elif server.name == FLOOR:
            yield name
            os.kill(server.pid, signal.SIGUSR1)
            time.sleep(_CLEAR_SECONDS)
        else:
            address = server.host_and_port
            kafka.create_topic(address, name, partitions=partitions, configs=_DELETE_AT_ONCE)
            yield name
            kafka.delete_topic(address, name)
            deadline = time.monotonic() + _DELETE_SECONDS_MAX
            while any(self.directory.glob(f"broker-*/{name}-*")) and time.monotonic() < deadline:
                time.sleep(_CLEAR_SECONDS)

    def send(self, server: Server, request: Request, shape: Shape) -> Sample:
        """Pre-encoded requests from load.c."""
        return driver.send_requests(
            self.tools.load,
            server,
            request,
            shape,
            request_path=self.directory / "request.bin",
            check=server.name != FLOOR,
        )

    def send_http(self, server: Server, requests_path: Path, shape: HttpShape) -> Sample:
        """Pre-encoded requests from http_load.c."""
        return http_load.send(self.tools.http_load, server, requests_path, shape)

    def librdkafka(self, mode: str, server: Server, topic: str, traffic: Traffic) -> Sample:
        assert self.tools.rdkafka_load is not None
        return driver.run_librdkafka(self.tools.rdkafka_load, mode, server, topic, traffic)

    def interleave(
        self,
        title: str,
        *contestants: Callable[[int], Sample],
        rotated: bool = False,
        times: int = 1,
    ) -> list[list[Sample]]:
        """Runs all in turn, round by round, so that a noisy minute hits each alike.

        A first round that is not counted warms up caches, allocators and the interpreter.
        `rotated`: another begins each round, so that what one leaves behind hits each alike, too.
        `times`: so many times the rounds that are usual, where a run is short.
        """
        rounds = self.scale.rounds * times
        samples: list[list[Sample]] = [[] for _ in contestants]
        pairs = list(zip(contestants, samples, strict=True))
        for number in range(rounds + 1):
            self.progress(f"{title}: round {number} of {rounds}")
            first = number % len(pairs) if rotated else 0
            for contestant, taken in pairs[first:] + pairs[:first]:
                taken.append(contestant(number))
        return [taken[1:] for taken in samples]
