"""Builds the C load generators on the spot, with nothing but gcc."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE / "build"
_FLAGS = ("-O2", "-Wall", "-Wextra")


@dataclass(frozen=True, slots=True)
class Tools:
    load: Path
    http_load: Path
    paced_load: Path
    rdkafka_load: Path | None
    """None when librdkafka's header is not installed."""


def build() -> Tools:
    BUILD.mkdir(exist_ok=True)
    load, http_load = _compile("load"), _compile("http_load")
    paced_load = _compile("paced_load", "-lpthread")
    if not _has_header("librdkafka/rdkafka.h"):
        return Tools(load, http_load, paced_load, None)
    return Tools(load, http_load, paced_load, _compile("rdkafka_load", "-lrdkafka", "-lpthread"))


def _compile(name: str, *libraries: str) -> Path:
    source, target = HERE / f"{name}.c", BUILD / name
    newest = max(path.stat().st_mtime for path in (source, *HERE.glob("*.h")))
    if not target.exists() or target.stat().st_mtime < newest:
        subprocess.run(["gcc", *_FLAGS, "-o", target, source, *libraries], check=True)
    return target


def _has_header(header: str) -> bool:
    probe = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"],
        input=f"#include <{header}>\n",
        text=True,
        capture_output=True,
        check=False,
    )
    return probe.returncode == 0
