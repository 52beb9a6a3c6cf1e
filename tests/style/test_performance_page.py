"""docs/performance.md and its pictures are what docs/performance.json yields."""

from bench.page.__main__ import SOURCE, files
from bench.report import Report
from tests.style.sources import name_of


def test_the_page_and_its_pictures_are_of_the_committed_run() -> None:
    stale = [
        name_of(path)
        for path, text in files(Report.read(SOURCE)).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make bench-page`"
