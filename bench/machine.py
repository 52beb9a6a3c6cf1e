"""What the figures were measured on."""

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

_PACKAGES = ("duolog", "uvloop", "crc32c", "kio")


def describe(directory: Path, *, librdkafka: str) -> dict[str, str]:
    return {
        "cpu": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
        "kernel": platform.release(),
        "filesystem": _filesystem(directory),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES),
        "librdkafka": librdkafka,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _filesystem(directory: Path) -> str:
    """The type of the innermost mount that holds `directory`."""
    target = str(directory.resolve())
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, this_kind, *_ = line.split()
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, this_kind
    return kind
