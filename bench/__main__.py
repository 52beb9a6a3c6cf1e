"""`python -m bench` measures; `python -m bench markdown FILE` prints the README's section."""

import argparse
import resource
import shlex
import shutil
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from bench import compiler, driver, kafka, machine
from bench.catalog import GROUPS, chosen
from bench.http_line import BadAnswer
from bench.peers import roster
from bench.processes import ServerFailed
from bench.report import Report
from bench.rows import failed
from bench.stand import Scale, Stand
from bench.table import end_progress, show_progress

RESULTS = Path(__file__).parent / "results"
BYTES_PER_GB = 1_000_000_000
QUICK_BACKLOG_GB = 2.0
FAILURES = (ServerFailed, driver.LoadFailed, kafka.Refused, BadAnswer, OSError)
"""What costs a run one group of workloads, not all of them."""


def scale_of(arguments: argparse.Namespace) -> Scale:
    if arguments.quick:
        return Scale(
            rounds=arguments.rounds or 3,
            bytes_per_run=100_000_000,
            seconds_per_run=0.3,
            latency_seconds=0.5,
            backlog_bytes=int(min(arguments.size_gb, QUICK_BACKLOG_GB) * BYTES_PER_GB),
            peer_messages=20_000,
            every_size=False,
            queue_messages=2_000,
            queue_waiting=50_000,
            queue_in_flight=10_000,
            queues=300,
            fifo_messages=2_000,
            usage_lines_each=12,
        )
    return Scale(
        rounds=arguments.rounds or 5,
        bytes_per_run=500_000_000,
        seconds_per_run=2.0,
        latency_seconds=3.0,
        backlog_bytes=int(arguments.size_gb * BYTES_PER_GB),
        peer_messages=200_000,
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", help=f"some of: {', '.join(GROUPS)}; or queues")
    parser.add_argument(
        "--peers",
        nargs="?",
        const="all",
        choices=("all", "topics", "queues"),
        help="also run other servers, if installed",
    )
    parser.add_argument("--quick", action="store_true", help="small counts: a minute or two")
    parser.add_argument("--rounds", type=int, help="runs per workload, of which the median counts")
    parser.add_argument("--size-gb", type=float, default=10.0, help="size of the backlog")
    parser.add_argument("--dir", type=Path, default=compiler.BUILD, help="on the disk to measure")
    parser.add_argument("--json", type=Path, help="where to write the result")
    arguments = parser.parse_args()
    try:
        arguments.groups = list(GROUPS) if arguments.only is None else chosen(arguments.only)
    except KeyError as unknown:
        parser.error(f"unknown workloads: {unknown}; known: {', '.join(GROUPS)}")
    return arguments


def measure(arguments: argparse.Namespace) -> Report:
    tools = compiler.build()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=arguments.dir))
    stand = Stand(directory, tools, scale_of(arguments), show_progress)
    about = machine.describe(directory, librdkafka=librdkafka_version(tools))
    command = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    report = Report(about, command, rows=[], peers=[])
    for group in arguments.groups:
        try:
            report.rows.extend(GROUPS[group](stand))
        except FAILURES as failure:
            show_progress(f"{group} failed: {failure} (logs are in {directory})\n")
            report.rows.append(failed(group, str(failure)))
    if arguments.peers in ("all", "topics"):
        report.peers.extend(roster.run(stand))
    if arguments.peers in ("all", "queues"):
        report.queue_peers.extend(roster.run_queues(stand))
    end_progress()
    if not report.failed:
        shutil.rmtree(directory)
    return report


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
    if sys.argv[1:2] == ["markdown"] and len(sys.argv) == 3:
        print(Report.read(Path(sys.argv[2])).markdown(), end="")
        return
    arguments = parse()
    signal.signal(signal.SIGTERM, on_terminate)
    raise_file_limit()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = arguments.json or RESULTS / f"{stamp}.json"
    report = measure(arguments)
    report.write(path)
    report.print()
    print(f"written to {path}", file=sys.stderr)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
