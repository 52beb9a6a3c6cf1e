"""What the kernel says about a process."""

from pathlib import Path


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has no VmRSS")


def descriptor_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
