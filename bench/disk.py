"""What the disk itself takes to make an append durable, without any server."""

import os
import time
from pathlib import Path
from statistics import quantiles

from bench.samples import Sample


def fdatasync_sample(directory: Path, *, append_bytes: int, times: int) -> Sample:
    """p50 and p99 of an append followed by fdatasync, one after the other."""
    path = directory / "fdatasync.log"
    data = bytes(append_bytes)
    took_us = []
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for number in range(times):
            began = time.perf_counter_ns()
            os.pwrite(fd, data, number * append_bytes)
            os.fdatasync(fd)
            took_us.append((time.perf_counter_ns() - began) / 1000)
    finally:
        os.close(fd)
        path.unlink()
    cuts = quantiles(took_us, n=1000, method="inclusive")
    return Sample(
        seconds=sum(took_us) / 1e6,
        cpu_seconds=0.0,
        requests=times,
        p50_us=cuts[499],
        p99_us=cuts[989],
        p999_us=cuts[998],
    )
