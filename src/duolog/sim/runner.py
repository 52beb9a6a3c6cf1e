"""Runs many seeds, several at a time, and reports the outcome of each."""

import asyncio
import gc
import multiprocessing
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from structlog.typing import EventDict

from duolog.observe.logs import configure_logs
from duolog.sim.loop import ProcessLoop
from duolog.sim.simulation import Options, Outcome, simulate
from duolog.sim.workloads.kafka_link import compile_codecs
from duolog.wire.kafka.schema import preload

PROBLEMS_SHOWN = 3
WARM_UP_SECONDS = 1.0


def run_seeds(
    seeds: Sequence[int],
    options: Options,
    *,
    jobs: int,
    with_story: bool = False,
    until_found: bool = False,
) -> int:
    """Run the seeds; returns the process's exit code, 0 if all are clean."""
    configure_logs("info" if with_story else "critical", "text", stamp=_stamp)
    _warm_up(options)
    began = time.perf_counter()
    outcomes = []
    for outcome in _outcomes(seeds, options, jobs):
        outcomes.append(outcome)
        print(_line(outcome), flush=True)
        if with_story:
            print("\n".join(outcome.story))
        if not outcome.is_clean:
            print(_failure(outcome, options), flush=True)
            if until_found:
                break
    print(_summary(outcomes, time.perf_counter() - began))
    return 0 if all(outcome.is_clean for outcome in outcomes) else 1


def _stamp(logger: object, method: str, event: EventDict) -> EventDict:
    """Stamp a log event with the virtual time and the simulated process."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ProcessLoop)
    event["timestamp"] = f"{loop.time():11.6f} {loop.name:14}"
    return event


def _warm_up(options: Options) -> None:
    """Load and compile code once, for all processes that are forked from this one."""
    preload()
    compile_codecs()
    simulate(0, replace(options, seconds=WARM_UP_SECONDS, planted=None))
    # The garbage of a seed goes with its process, so collecting it would only cost time.
    gc.disable()


def _outcomes(seeds: Sequence[int], options: Options, jobs: int) -> Iterable[Outcome]:
    work = partial(simulate, options=options)
    # Forked for each seed, so that no state of one seed reaches another.
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap(work, seeds, chunksize=1)


def _line(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed:5}  {'clean' if outcome.is_clean else 'FAILED':6}"
        f"  {outcome.virtual_seconds:6.1f} s in {outcome.real_seconds:5.2f} s"
        f"  {outcome.faults} faults, {outcome.restarts} starts,"
        f" busy {outcome.host.busyness:.0f}, weight {outcome.host.weight},"
        f" gaps {'/'.join(f'{gap:.1f}' for gap in outcome.gaps_seconds)} s,"
        f" turn {outcome.longest_turn_ms} ms,"
        f" {outcome.acknowledged} records and {outcome.messages} messages acknowledged"
        f"  trace {outcome.trace & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    )


def _failure(outcome: Outcome, options: Options) -> str:
    problems = outcome.problems[:PROBLEMS_SHOWN]
    lines = [*outcome.violations, *problems, f"    replay: {replay_command(outcome.seed, options)}"]
    return "\n".join(lines)


def replay_command(seed: int, options: Options) -> str:
    parts = [f"{sys.executable} -m duolog.sim --seeds 1 --first {seed}"]
    default = Options()
    for name in ("nodes", "seconds", "planted"):
        value = getattr(options, name)
        if value != getattr(default, name):
            parts.append(f"--{name} {value}")
    for name in ("faults", "loads"):
        value = getattr(options, name)
        if value != getattr(default, name):
            parts.append(f"--{name} {' '.join(value)}")
    return " ".join([*parts, "--story"])


def _summary(outcomes: Sequence[Outcome], seconds: float) -> str:
    virtual = sum(outcome.virtual_seconds for outcome in outcomes)
    busy = sum(outcome.real_seconds for outcome in outcomes)
    failed = [outcome.seed for outcome in outcomes if not outcome.is_clean]
    found = f"{len(failed)} of {len(outcomes)} seeds failed: {failed}" if failed else "all clean"
    return (
        f"{len(outcomes)} seeds in {seconds:.1f} s, {len(outcomes) / seconds:.2f} a second;"
        f" {virtual / busy:.0f} times faster than real time on one core; {found}"
    )
