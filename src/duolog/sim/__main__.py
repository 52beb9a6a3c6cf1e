"""`python -m duolog.sim`: runs seeds, each in a process of its own, and reports failures."""

import argparse
import os
import sys

from duolog.sim.faults.schedule import KINDS
from duolog.sim.hand_over import HAND_OVER
from duolog.sim.planted.planting import PLANTED
from duolog.sim.runner import run_seeds
from duolog.sim.simulation import LOAD_SECONDS, LOADS, NODES, Options

HASH_SEED = "0"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m duolog.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="number of seeds to run")
    parser.add_argument("--first", type=int, default=1, help="first seed to run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="seeds to run at a time")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument(
        "--seconds", type=float, default=LOAD_SECONDS, help="simulated seconds of load"
    )
    parser.add_argument(
        "--planted", choices=[*PLANTED], help="plant this mistake, for the oracle to find"
    )
    parser.add_argument(
        "--faults", nargs="*", choices=[*KINDS, HAND_OVER], help="allow only these kinds"
    )
    parser.add_argument("--loads", nargs="*", choices=LOADS, help="run only these loads")
    parser.add_argument("--until-found", action="store_true", help="stop at the first failure")
    parser.add_argument("--story", action="store_true", help="print each fault as it happened")
    given = parser.parse_args(arguments)
    mistake = PLANTED.get(given.planted)
    options = Options(
        nodes=given.nodes,
        seconds=given.seconds,
        faults=tuple(given.faults or (mistake.faults if mistake else ())),
        loads=tuple(given.loads or (mistake.loads if mistake else LOADS)),
        planted=given.planted,
    )
    seeds = range(given.first, given.first + given.seeds)
    return run_seeds(
        seeds,
        options,
        jobs=given.jobs,
        with_story=given.story,
        until_found=given.until_found,
    )


def run_with_fixed_hashes() -> None:
    """Restart the process, if need be, with a fixed hash seed, so that sets of texts have one
    order."""
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        environment = {**os.environ, "PYTHONHASHSEED": HASH_SEED}
        command = [sys.executable, "-m", "duolog.sim", *sys.argv[1:]]
        os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    run_with_fixed_hashes()
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # Skips the interpreter's clean-up, which would close whatever dead processes were doing.
    os._exit(code)
