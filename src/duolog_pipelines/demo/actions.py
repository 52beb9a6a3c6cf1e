"""Actions behind the commands of `duolog demo`."""

import json
from pathlib import Path

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.output import Format, print_table, tell
from duolog_pipelines.actions import report, reporting
from duolog_pipelines.demo.outcome import checks, summary
from duolog_pipelines.demo.run import run_demo
from duolog_pipelines.lake import Lake


def show_pipelines(data: Path, master: str, seed: int, output: Format) -> None:
    with reporting():
        plan, found = run_demo(data, master, seed, tell)
        made = checks(plan, found)
        if output is Format.table:
            lake = Lake.within(data)
            report([], lake.root / "report.html", lake, output)
            print()
            rows = [(each.what, each.planned, each.found, each.holds) for each in made]
            print_table(rows, ("what", "planned", "found", "same"))
            tell(f"Tables, bills and the report are in {lake.root}.")
        else:
            print(json.dumps(summary(plan, found)))
        wrong = [each for each in made if not each.holds]
        if wrong:
            raise Failure(
                f"{wrong[0].what.capitalize()}: {wrong[0].found} instead of {wrong[0].planned}."
                f" What was computed is kept in {data}.",
                ExitCode.FAILED,
            )
