"""What the kernel says about a process."""

from contextlib import suppress
from pathlib import Path


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no VmRSS")


def descriptor_count(pid: int, *, beside: Path | None = None) -> int:
    """`beside`: without those of files below this directory."""
    opened = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        # It may be closed by now.
        with suppress(FileNotFoundError):
            opened.append(descriptor.readlink())
    return sum(beside is None or not each.is_relative_to(beside) for each in opened)
