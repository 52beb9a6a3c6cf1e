"""The project's own files, for tests that hold its conventions."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "duolog"
SPARK_PACKAGE = ROOT / "src" / "pyspark_duolog"
PIPELINES_PACKAGE = ROOT / "src" / "duolog_pipelines"

_TEXT_SUFFIXES = (
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".c",
    ".h",
    ".cfg",
    ".yml",
    ".yaml",
    ".sh",
    ".html",
    ".svg",
)
_GENERATED = {"__pycache__", "results", "build"}


def package_modules() -> list[Path]:
    packages = (PACKAGE, SPARK_PACKAGE, PIPELINES_PACKAGE)
    return sorted(module for package in packages for module in package.rglob("*.py"))


def text_files() -> list[Path]:
    """Everything written by hand: sources, tests, benchmarks, documents and project files."""
    found = [path for path in ROOT.iterdir() if path.suffix in _TEXT_SUFFIXES]
    found += [ROOT / "Makefile", *(ROOT / ".ci").iterdir()]
    for folder in ("src", "tests", "bench", "docs", "examples"):
        found += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in _TEXT_SUFFIXES and not _is_generated(path.relative_to(ROOT))
        ]
    return sorted(path for path in found if path.is_file())


def _is_generated(path: Path) -> bool:
    return any(part in _GENERATED or part.endswith(".egg-info") for part in path.parts)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))
