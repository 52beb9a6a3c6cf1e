"""Hurts a cluster under load, and says how soon it serves again: `make heal`.

Ends with 1 if anything acknowledged was lost, doubled or out of order, if a fault was not served
within the bound, or, where root runs it, if a fault was skipped.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Timer

from tests.harness.sqs_line import SqsLine
from tests.heal.faults import FAULTS
from tests.heal.goals import ROLLING
from tests.heal.history import write_history
from tests.heal.load import PARTITIONS, TOPIC, Load
from tests.heal.node_log import NodeLog
from tests.heal.outcome import Outcome
from tests.heal.pace import BUSY, IDLE
from tests.heal.place import NODES, Place, place
from tests.heal.report import goal_lines, round_lines, table
from tests.heal.rounds import Rounds
from tests.heal.watch import Watch

NAMES = [*FAULTS, ROLLING]
INSTALLED = Path(__file__).with_name("installed")
"""Modules that hide what only tests install from the nodes."""
DIRECTORY = Path("build/heal")
QUEUES = [f"orders-{at}{'.fifo' if at % 2 else ''}" for at in range(8)]
GROUPS = [f"group-{at}" for at in range(6)]
GROUPS_TOPIC = "committed"
GROUPS_PARTITIONS = 24
HANDLED = 9_000
COMMITS = 12_500
BUSY_LOOPS = 8
IDLE_DELAY_MAX = 0.1
REPEATS_MAX = 3
BOUND_SECONDS = 60.0
END_SECONDS_MAX = 20.0


def main(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"another run uses {DIRECTORY}", file=sys.stderr)
            return 2
        return _run_all(given)


def _run_all(given: argparse.Namespace) -> int:
    os.environ["PYTHONPATH"] = str(INSTALLED)
    modes = [mode for mode in ("idle", "busy", "quota") if getattr(given, mode)]
    outcomes: list[Outcome] = []
    began = time.monotonic()
    for mode in modes or ["idle", "busy"]:
        outcomes += _run(mode, given, began)
    for line in ["", *table(outcomes), *(["", *goal_lines(outcomes)] if given.goals else [])]:
        print(line, flush=True)
    if given.json:
        told = [asdict(each) for each in outcomes]
        Path(given.json).write_text(json.dumps(told, indent=1, default=str) + "\n")
    is_root = os.geteuid() == 0
    return int(any(each.failed or (each.skipped and is_root) for each in outcomes))


def _end(*_: object) -> None:
    """Like an interruption, so that no process, network or disk is left behind; but clients that
    wait for a cluster which is gone must not keep this program."""
    last = Timer(END_SECONDS_MAX, os._exit, (1,))
    last.daemon = True
    last.start()
    sys.exit("ended by SIGTERM")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make heal", description=__doc__)
    add = parser.add_argument
    add("--rounds", default="5,kill=10", help="of each fault: N, or N,FAULT=N,… [%(default)s]")
    add("--only", default=",".join(NAMES), help="these faults, in this order [%(default)s]")
    add("--idle", action="store_true", help="with nothing else on this machine")
    add("--busy", action="store_true", help=f"beside {BUSY_LOOPS} busy loops")
    add("--quota", type=float, metavar="CORES", help="all nodes share so many cores")
    add("--handled", type=int, default=HANDLED, help="messages of each queue before [%(default)s]")
    add("--commits", type=int, default=COMMITS, help="of 24 partitions each before [%(default)s]")
    add("--bound", type=float, default=BOUND_SECONDS, help="seconds to wait at most [%(default)s]")
    add("--goals", action="store_true", help="say which goals are reached")
    add("--json", metavar="FILE", help="write all rounds there, too")
    return parser


def _counts(rounds: str) -> dict[str, int]:
    """`5,kill=10`: how many of each."""
    counts: dict[str, int] = {}
    for part in rounds.split(","):
        name, _, number = part.rpartition("=")
        assert not name or name in NAMES, f"there is no fault {name}: {', '.join(NAMES)}"
        counts.update({name: int(number)} if name else dict.fromkeys(NAMES, int(number)))
    return counts


def _run(mode: str, given: argparse.Namespace, began: float) -> list[Outcome]:
    """All rounds of a mode, on a cluster of their own."""

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    directory = DIRECTORY / mode
    shutil.rmtree(directory, ignore_errors=True)
    say(f"{mode}: starting an etcd and {NODES} nodes; their logs are in {directory}")
    pace = IDLE if mode == "idle" else BUSY
    loops = BUSY_LOOPS if mode == "busy" else 0
    cores = given.quota if mode == "quota" else None
    outcomes: list[Outcome] = []
    with place(directory.absolute(), loops=loops, cores=cores) as there:
        cluster = there.cluster
        with there.loops.paused():
            cluster.until_settled()
            cluster.create_topic(TOPIC, PARTITIONS)
            cluster.create_topic(GROUPS_TOPIC, GROUPS_PARTITIONS)
            urls = _create_queues(there)
            say(f"handling {given.handled} messages of each queue, and {given.commits} commits")
            times = max(1, given.commits // len(GROUPS))
            write_history(
                cluster, urls, given.handled, GROUPS_TOPIC, GROUPS_PARTITIONS, GROUPS, times
            )
        committed = [times - 1] * GROUPS_PARTITIONS
        nodes = list(cluster.nodes.values())
        with (
            Watch(nodes, cluster.etcd) as watch,
            Load(cluster, urls, GROUPS, GROUPS_TOPIC, committed, pace) as load,
        ):
            say("under load")
            rounds = Rounds(mode, there, load, watch, pace, given.bound)
            for name in given.only.split(","):
                for number in range(1, _counts(given.rounds)[name] + 1):
                    for _ in range(REPEATS_MAX):
                        # Each node in turn, so that what one has gone through is over.
                        victim = len(outcomes) % NODES + 1
                        outcome = _round(rounds, there, name, number, victim)
                        outcomes.append(outcome)
                        is_idle = outcome.delay_share < IDLE_DELAY_MAX
                        outcome.is_repeated = mode == "idle" and not is_idle
                        for line in round_lines(number, _counts(given.rounds)[name], outcome):
                            say(line)
                        if not outcome.is_repeated:
                            break
        for node in nodes:
            if count := NodeLog(node.directory).tracebacks():
                outcomes[-1].problems.append(f"{count} tracebacks in {node.directory}")
                say(outcomes[-1].problems[-1])
    return outcomes


def _round(rounds: Rounds, there: Place, name: str, number: int, victim: int) -> Outcome:
    if name == ROLLING:
        return rounds.roll(name)
    fault = FAULTS[name](there, victim, number)
    if fault.needs_machines and there.distant is None:
        return Outcome(rounds.mode, name, skipped="networks and disks of nodes take root")
    return rounds.run(name, fault)


def _create_queues(there: Place) -> list[str]:
    cluster = there.cluster
    with SqsLine(cluster.sqs, cluster.credentials) as line:
        return [
            line.call(
                "CreateQueue",
                QueueName=name,
                Attributes={"FifoQueue": "true"} if name.endswith(".fifo") else {},
            )["QueueUrl"]
            for name in QUEUES
        ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
