"""A day of one busy node's usage, taken up and summed by the pipeline `usage`."""

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from bench import kafka, processes
from bench.driver import LoadFailed
from bench.meter import Meter
from bench.processes import Server, ServerFailed
from bench.rows import Row, skipped
from bench.samples import Figures
from bench.spark.running import POLL_SECONDS, missing, running
from bench.stand import Stand, duolog
from bench.workloads.spark_read import CORES, MEMORY

TOPIC = "usage"
INTERVAL_MS = 5_000
INTERVALS = 86_400_000 // INTERVAL_MS
PIPELINES = "duolog_pipelines"


def run(stand: Stand) -> Iterator[Row]:
    lines = INTERVALS * stand.scale.usage_lines_each
    title = f"a day's usage, {lines:,} lines"
    why = missing() or ("" if find_spec(PIPELINES) else "skipped: no pipelines")
    if why:
        yield skipped("spark/usage", title, "seconds", why)
        return
    with stand.broker("os") as broker:
        stand.progress(f"{title}: writing")
        kafka.create_topic(broker.host_and_port, TOPIC, partitions=1, configs={})
        with running(stand, cores=CORES, memory=MEMORY) as spark:
            options = {"kafka.bootstrap.servers": broker.address, "topic": TOPIC}
            spark.run(
                "write_usage",
                intervals=INTERVALS,
                interval_ms=INTERVAL_MS,
                lines_each=stand.scale.usage_lines_each,
                options=options,
            )
        stand.progress(f"{title}: summing")
        yield Row("spark/usage", title, "seconds", _sum(stand, broker, lines))


def _sum(stand: Stand, broker: Server, lines: int) -> Figures:
    """From the command to its end: the start of Spark is in it."""
    argv: list[str | Path] = [duolog(), "pipeline", "run", "usage", "--once"]
    argv += ["--master", f"local[{CORES}]", "--data", stand.directory / "usage"]
    argv += ["--kafka", broker.address, "-O", f"topic={TOPIC}", "-O", "gaps=report"]
    log_path = stand.directory / "usage.log"
    began, broker_before = time.monotonic(), broker.cpu_seconds()
    with processes.spawn("duolog pipeline", argv, log_path=log_path) as pipeline:
        meter = Meter(pipeline)
        rss_mb, others_cores = 0.0, 0.0
        while pipeline.process.poll() is None:
            if time.monotonic() - began > stand.scale.seconds_max * 5:
                raise LoadFailed("the pipeline did not end in time")
            rss_mb = max(rss_mb, pipeline.session_rss_mb())
            with suppress(ServerFailed):  # It may end just now.
                others_cores = meter.read(
                    load_cpu_seconds=broker.cpu_seconds() - broker_before
                ).others_cores
            time.sleep(POLL_SECONDS)
    if pipeline.process.returncode:
        raise LoadFailed(pipeline.log_tail())
    return Figures(
        seconds=time.monotonic() - began,
        rss_mb=rss_mb,
        population=lines,
        others_cores=others_cores,
    )
