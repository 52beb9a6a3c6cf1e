"""Measures this machine's Duolog, alone or beside other servers."""

import argparse
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType

from bench import compiler, driver, kafka, machine
from bench.catalog import GROUPS, NAMES, chosen
from bench.comparison.catalog import COMPARISONS
from bench.comparison.standing import Comparison
from bench.http_line import BadAnswer
from bench.processes import ServerFailed
from bench.report import OtherMachine, Report, Run
from bench.rows import Row, failed
from bench.stand import Scale, Stand
from bench.table import end_progress, show_progress

RESULTS = Path(__file__).parent / "results"
BYTES_PER_GB = 1_000_000_000
QUICK_BACKLOG_GB = 2.0
FAILURES = (ServerFailed, driver.LoadFailed, kafka.Refused, BadAnswer, OSError)
"""What costs a run one group of workloads, not all of them."""


PUBLISHED = "compare"
"""The groups that docs/performance.md is about."""


def scale_of(arguments: argparse.Namespace) -> Scale:
    if arguments.quick:
        return Scale(
            rounds=arguments.rounds or 3,
            bytes_per_run=100_000_000,
            seconds_per_run=0.3,
            latency_seconds=0.5,
            backlog_bytes=int(min(arguments.size_gb, QUICK_BACKLOG_GB) * BYTES_PER_GB),
            every_size=False,
            queue_messages=2_000,
            queue_waiting=50_000,
            queue_in_flight=10_000,
            queues=300,
            fifo_messages=2_000,
            usage_lines_each=12,
        )
    if arguments.published:
        return Scale(
            rounds=arguments.rounds or 3,
            bytes_per_run=500_000_000,
            seconds_per_run=0.8,
            latency_seconds=1.2,
            backlog_bytes=int(arguments.size_gb * BYTES_PER_GB),
            queue_messages=10_000,
            preheat_seconds=2.0,
        )
    return Scale(
        rounds=arguments.rounds or 5,
        bytes_per_run=500_000_000,
        seconds_per_run=2.0,
        latency_seconds=3.0,
        backlog_bytes=int(arguments.size_gb * BYTES_PER_GB),
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", help=f"some of: {', '.join(NAMES)}; or what these are under")
    parser.add_argument(
        "--published", action="store_true", help="beside other servers, as docs/performance.md"
    )
    parser.add_argument("--quick", action="store_true", help="small counts: a minute or two")
    parser.add_argument("--rounds", type=int, help="runs per workload, of which the median counts")
    parser.add_argument("--size-gb", type=float, default=10.0, help="size of the backlog")
    parser.add_argument("--dir", type=Path, default=compiler.BUILD, help="on the disk to measure")
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument(
        "--merge", action="store_true", help="keep what the JSON file has of other groups"
    )
    arguments = parser.parse_args()
    if arguments.merge and arguments.json is None:
        parser.error("--merge needs --json")
    usual = chosen(PUBLISHED) if arguments.published else list(GROUPS)
    try:
        arguments.groups = usual if arguments.only is None else chosen(arguments.only)
    except KeyError as unknown:
        parser.error(f"unknown workloads: {unknown}; known: {', '.join(NAMES)}")
    return arguments


def measure(arguments: argparse.Namespace) -> Iterator[Report]:
    """A report for each group, so that what is measured is kept when a later group fails."""
    tools = compiler.build()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=arguments.dir))
    about = machine.describe(directory, librdkafka=librdkafka_version(tools))
    if arguments.merge and arguments.json.exists():
        Report.read(arguments.json).check_machine(about)
    stand = Stand(directory, tools, scale_of(arguments), show_progress)
    is_failed = False
    for number, group in enumerate(arguments.groups, start=1):
        prefix = f"[{number}/{len(arguments.groups)}] "
        of_group = replace(stand, progress=partial(show_numbered, prefix))
        report = measure_group(of_group, group, about)
        is_failed = is_failed or report.failed
        yield report
    end_progress()
    if not is_failed:
        shutil.rmtree(directory)


def show_numbered(prefix: str, text: str) -> None:
    show_progress(prefix + text)


def measure_group(stand: Stand, group: str, about: dict[str, str]) -> Report:
    rows: list[Row] = []
    comparisons: list[Comparison] = []
    began, date = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    try:
        if group in COMPARISONS:
            found = COMPARISONS[group](stand)
            took = time.monotonic() - began
            comparisons = [
                Comparison(
                    group,
                    date,
                    round(took),
                    stand.scale.rounds,
                    found.contestants,
                    found.standings,
                    found.absent,
                )
            ]
        else:
            rows += GROUPS[group](stand)
    except FAILURES as failure:
        stand.progress(f"{group} failed: {failure} (logs are in {stand.directory})\n")
        rows.append(failed(group, str(failure)))
    run = Run(date, command, [group], round(time.monotonic() - began))
    return Report(about, [run], rows, comparisons)


def librdkafka_version(tools: compiler.Tools) -> str:
    if tools.rdkafka_load is None:
        return "not installed"
    return str(driver.run_tool([tools.rdkafka_load, "version"], seconds_max=5)["version"])


def raise_file_limit() -> None:
    """200 connections and 1,000 partitions need more than the usual 1,024 descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def on_terminate(number: int, frame: FrameType | None) -> None:
    """As an exception, so that every server started is also stopped."""
    sys.exit(128 + number)


def main() -> None:
    arguments = parse()
    signal.signal(signal.SIGTERM, on_terminate)
    raise_file_limit()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = arguments.json or RESULTS / f"{stamp}.json"
    whole = Report.read(path) if arguments.merge and path.exists() else None
    try:
        for report in measure(arguments):
            whole = report if whole is None else whole.merged(report)
            whole.write(path)
    except OtherMachine as other:
        sys.exit(f"{path} is of another machine: {other}")
    if whole is None:
        sys.exit("nothing was measured")
    whole.print()
    print(f"written to {path}", file=sys.stderr)
    sys.exit(1 if whole.failed else 0)


if __name__ == "__main__":
    main()
