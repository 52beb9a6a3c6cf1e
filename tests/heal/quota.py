"""A limit on the CPU of all nodes together, by a control group of the kernel."""

import os
from contextlib import suppress
from pathlib import Path

VERSION_1 = Path("/sys/fs/cgroup/cpu")
VERSION_2 = Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class Quota:
    """A context manager: a control group with so many cores. `refused` says why there is none."""

    def __init__(self, cores: float) -> None:
        self._cores = cores
        self._group: Path | None = None
        self.refused = ""

    def __enter__(self) -> "Quota":
        is_first = (VERSION_1 / "cpu.cfs_quota_us").exists()
        group = (VERSION_1 if is_first else VERSION_2) / f"duolog-heal-{os.getpid()}"
        quota_us = int(self._cores * PERIOD_US)
        try:
            group.mkdir()
            self._group = group
            if is_first:
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(quota_us))
            else:
                (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        except OSError as error:
            self.refused = f"a control group cannot be made: {error}"
            self.__exit__()
        return self

    @property
    def wrapper(self) -> list[str]:
        """What a command begins with that is to run under it."""
        if self._group is None:
            return []
        return ["sh", "-c", f'echo $$ > {self._group}/cgroup.procs && exec "$@"', "sh"]

    def take(self, pid: int) -> None:
        """A process that runs already."""
        if self._group is not None:
            (self._group / "cgroup.procs").write_text(str(pid))

    def __exit__(self, *_: object) -> None:
        if self._group is not None:
            # Processes that have ended a moment ago may still count as its own.
            with suppress(OSError):
                self._group.rmdir()
            self._group = None
