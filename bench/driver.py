"""Runs the C load generators against a server and accounts for the server's CPU meanwhile."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.meter import Meter
from bench.processes import Server
from bench.requests import Request
from bench.samples import Sample

GRACE_SECONDS = 60.0
"""How much longer than its own limit a load generator may take."""


class LoadFailed(Exception):
    """A load generator met a wrong answer, an error code, or silence."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How load.c sends one request over and over."""

    count: int
    seconds_max: float
    connections: int = 1
    depth: int = 1
    """Requests unanswered on each connection."""
    partitions: int = 1
    records: int = 1
    """In each request or response."""
    fetch_rounds: int = 0
    """Fetches step on by `records` after each round over the partitions, and start anew after
    this many rounds."""
    response_bytes_min: int = 0


@dataclass(frozen=True, slots=True)
class Traffic:
    """What librdkafka is to produce or consume."""

    size_bytes: int
    count: int
    seconds_max: float
    partitions: int = 1
    rate: int | None = None
    overrides: Sequence[str] = ()
    """Properties of librdkafka, as name=value."""


def run_tool(argv: Sequence[str | Path], *, seconds_max: float) -> dict[str, Any]:
    """The JSON object that a load generator prints."""
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            capture_output=True,
            text=True,
            timeout=seconds_max + GRACE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise LoadFailed(f"{argv[0]} did not end in time") from late
    if done.returncode != 0:
        raise LoadFailed(done.stderr.strip() or f"{argv[0]} ended with {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def send_requests(
    tool: Path, server: Server, request: Request, shape: Shape, *, request_path: Path, check: bool
) -> Sample:
    """`check` is off for the floor, whose answers are constant."""
    request_path.write_bytes(request.frame)
    host, port = server.host_and_port
    argv: list[str | Path] = [tool, "--host", host, "--port", str(port)]
    argv += ["--request", request_path]
    argv += ["--count", str(shape.count), "--seconds", str(shape.seconds_max)]
    argv += ["--connections", str(shape.connections), "--depth", str(shape.depth)]
    argv += ["--partitions", str(shape.partitions), "--partition-at", str(request.partition_at)]
    argv += ["--response-bytes-min", str(shape.response_bytes_min)]
    if check:
        argv += ["--error-at", str(request.error_at)]
    if request.offset_at is not None and shape.fetch_rounds:
        argv += ["--offset-at", str(request.offset_at), "--offset-step", str(shape.records)]
        argv += ["--offset-wrap", str(shape.fetch_rounds * shape.records)]
    meter = Meter(server)
    result = run_tool(argv, seconds_max=shape.seconds_max)
    usage = meter.read(load_cpu_seconds=result["client_cpu_seconds"])
    return Sample(
        seconds=result["seconds"],
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        requests=result["requests"],
        messages=result["requests"] * shape.records,
        bytes=max(result["bytes_sent"], result["bytes_received"]),
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        p999_us=result["p999_us"],
    )


def run_librdkafka(tool: Path, mode: str, server: Server, topic: str, traffic: Traffic) -> Sample:
    argv: list[str | Path] = [tool, mode, "--brokers", server.address, "--topic", topic]
    argv += ["--partitions", str(traffic.partitions), "--size", str(traffic.size_bytes)]
    argv += ["--count", str(traffic.count), "--seconds", str(traffic.seconds_max)]
    if traffic.rate:
        argv += ["--rate", str(traffic.rate)]
    for override in traffic.overrides:
        argv += ["-X", override]
    meter = Meter(server)
    result = run_tool(argv, seconds_max=traffic.seconds_max)
    usage = meter.read(load_cpu_seconds=result["client_cpu_seconds"])
    timed = mode == "latency"
    return Sample(
        seconds=result["seconds"],
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        requests=result["requests"],
        messages=result["messages"],
        bytes=result["bytes"],
        p50_us=result["p50_us"] if timed else None,
        p99_us=result["p99_us"] if timed else None,
        p999_us=result["p999_us"] if timed else None,
        is_paced=timed,
    )
