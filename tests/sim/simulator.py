"""Runs the simulator as its users do, and reads what it prints."""

import re
import subprocess
import sys
from typing import NamedTuple

SECONDS_MAX = 1_500


class Report(NamedTuple):
    code: int
    text: str

    @property
    def traces(self) -> dict[int, str]:
        """By seed."""
        found = re.findall(r"^seed +(\d+) .* trace ([0-9a-f]{16})$", self.text, re.MULTILINE)
        return {int(seed): trace for seed, trace in found}

    @property
    def speed_up(self) -> int:
        return int(re.search(r"(\d+) times faster than real time", self.text)[1])

    @property
    def faults(self) -> list[int]:
        """Of each seed."""
        return [int(count) for count in re.findall(r" (\d+) faults,", self.text)]


def simulate(*arguments: str) -> Report:
    command = [sys.executable, "-m", "duolog.sim", *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX
    )
    return Report(done.returncode, done.stdout)
