"""Drives http_load.c: HTTP requests that are encoded beforehand, and what they are answered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from struct import Struct
from typing import Any

from bench.driver import run_tool
from bench.meter import Meter
from bench.processes import Server
from bench.samples import Sample
from bench.signature import AccessKey

_LENGTH = Struct(">I")
_SDK_HEADERS = {
    "Accept-Encoding": "identity",
    "Content-Type": "application/x-amz-json-1.0",
    "User-Agent": "Boto3/1.40.0 md/Botocore#1.40.0 ua/2.1 os/linux#6.1 md/arch#x86_64"
    " lang/python#3.11.2 md/pyimpl#CPython m/Z,b cfg/retry-mode#legacy Botocore/1.40.0",
    "X-Amzn-Query-Mode": "true",
    "X-Amz-Date": "20260101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/sqs/aws4_request,"
    " SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-amzn-query-mode,"
    f" Signature={'0' * 64}",
    "amz-sdk-invocation-id": "00000000-0000-0000-0000-000000000000",
    "amz-sdk-request": "attempt=1",
}
"""What boto3 sends beside the action: a server has to parse them, whether it needs them or not."""


@dataclass(frozen=True, slots=True)
class HttpShape:
    """How the requests of a file are sent: in its order, and from its start when it ends."""

    count: int
    seconds_max: float
    connections: int = 16
    messages: int = 1
    """In each request or answer."""
    counted: str | None = None
    """A text whose occurrences in the answers are the messages, instead."""
    capture: Path | None = None
    """Where the bodies of the answers go."""


def sqs_request(
    action: str, fields: Mapping[str, Any], *, host: str, key: AccessKey | None = None
) -> bytes:
    """As boto3 sends it; without a key, its signature is as long as any, but wrong."""
    body = json.dumps(fields).encode()
    headers = {
        "Host": host,
        "X-Amz-Target": f"AmazonSQS.{action}",
        **_SDK_HEADERS,
        "Content-Length": str(len(body)),
    }
    if key is not None:
        headers["X-Amz-Date"] = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        headers["Authorization"] = key.authorization(headers, body)
    lines = ["POST / HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def join_frames(frames: Sequence[bytes]) -> bytes:
    """As a file of requests has them: each behind its length."""
    return b"".join(_LENGTH.pack(len(frame)) + frame for frame in frames)


def split_frames(data: bytes) -> Iterator[bytes]:
    """The bodies that were captured, in the order of the answers."""
    at = 0
    while at < len(data):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(data, start - _LENGTH.size)[0]
        yield data[start:at]


def send(tool: Path, server: Server, requests_path: Path, shape: HttpShape) -> Sample:
    host, port = server.host_and_port
    argv: list[str | Path] = [tool, "--host", host, "--port", str(port)]
    argv += ["--requests", requests_path, "--connections", str(shape.connections)]
    argv += ["--count", str(shape.count), "--seconds", str(shape.seconds_max)]
    if shape.counted is not None:
        argv += ["--count-in-bodies", shape.counted]
    if shape.capture is not None:
        argv += ["--capture", shape.capture]
    meter = Meter(server)
    result = run_tool(argv, seconds_max=shape.seconds_max)
    usage = meter.read(load_cpu_seconds=result["client_cpu_seconds"])
    requests = result["requests"]
    return Sample(
        seconds=result["seconds"],
        cpu_seconds=usage.cpu_seconds,
        others_cores=usage.others_cores,
        requests=requests,
        messages=requests * shape.messages if shape.counted is None else result["found"],
        bytes=max(result["bytes_sent"], result["bytes_received"]),
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
        p999_us=result["p999_us"],
    )
