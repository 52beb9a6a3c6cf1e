"""Writes docs/performance.md and its pictures from docs/performance.json."""

from collections.abc import Mapping
from pathlib import Path

from bench.page import pictures
from bench.page.page import page
from bench.report import Report

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS / "performance.json"


def files(report: Report) -> Mapping[Path, str]:
    return {
        DOCS / "performance.md": page(report),
        DOCS / "performance-throughput.svg": pictures.throughput(report),
        DOCS / "performance-cpu.svg": pictures.cpu(report),
    }


def main() -> None:
    for path, text in files(Report.read(SOURCE)).items():
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.name}")


if __name__ == "__main__":
    main()
