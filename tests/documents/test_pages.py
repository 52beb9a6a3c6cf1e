"""Every block of code in the documents runs, in its order, as a reader would run it.

`blocks.py` says what a page can say about a block. Those that need Spark or a cluster are marked
`documents`, and left to `make documents`.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from tests.documents.blocks import CLUSTER, NODE, SPARK, Block, PageFault, read_blocks
from tests.documents.places import ROOT
from tests.documents.running import PageRun, is_of_pass

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("examples/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
T = TypeVar("T")
FRONT_PAGE = "README.md"
PROGRAMS = {SPARK: "java", CLUSTER: "etcd"}


def blocks_of(name: str) -> list[Block]:
    return _tell(lambda: read_blocks(ROOT / name, name))


def _tell(read_or_run: Callable[[], T]) -> T:
    """What is wrong with a page, and not how the test came upon it."""
    try:
        return read_or_run()
    except PageFault as fault:
        wrong = str(fault)
    pytest.fail(wrong, pytrace=False)


def pages_with(needs: str) -> list[str]:
    """A page that cannot be read is among them: its test says why."""
    found = []
    for name in NAMES:
        try:
            blocks = read_blocks(ROOT / name, name)
            has_some = any(each.needs == needs and is_of_pass(each, needs) for each in blocks)
        except PageFault:
            has_some = needs == NODE
        if has_some:
            found.append(name)
    return found


def run_page(name: str, needs: str) -> list[Block]:
    """The blocks that ran. Fails at the first one that does not do as the page says."""
    if needs in PROGRAMS and not shutil.which(PROGRAMS[needs]):
        pytest.skip(f"{PROGRAMS[needs]} is not installed")
    blocks = blocks_of(name)
    # Of a directory below pytest's own, a cluster's socket file has too long a path.
    with TemporaryDirectory(prefix="page-", ignore_cleanup_errors=True) as directory:
        page = PageRun(blocks, needs, Path(directory))
        _tell(page.run)
    assert page.ran == [each for each in blocks if is_of_pass(each, needs)]
    return page.ran


@pytest.mark.parametrize("name", NAMES)
def test_each_block_of_a_page_runs_or_says_why_not(name: str) -> None:
    for block in blocks_of(name):
        runs = any(is_of_pass(block, needs) for needs in (NODE, SPARK, CLUSTER))
        assert runs or block.is_excused or block.is_picture, block


@pytest.mark.parametrize("name", pages_with(NODE))
def test_a_page_does_what_it_says(name: str) -> None:
    ran = run_page(name, NODE)
    if name == FRONT_PAGE:
        first = next(each for each in blocks_of(name) if each.language == "python")
        assert first in ran, "the front page's first example needs nothing but a node"


def test_the_front_page_is_among_them() -> None:
    assert FRONT_PAGE in pages_with(NODE)


def test_each_example_is_run_by_the_page_about_them() -> None:
    run = [each.text for each in blocks_of("examples/README.md") if not each.is_excused]
    for example in (ROOT / "examples").rglob("*.py"):
        path = example.relative_to(ROOT)
        module = ".".join(path.with_suffix("").parts)
        assert any(str(path) in text or f"-m {module}" in text for text in run), path


@pytest.mark.documents
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", pages_with(SPARK))
def test_a_page_does_what_it_says_with_spark(name: str) -> None:
    run_page(name, SPARK)


@pytest.mark.documents
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", pages_with(CLUSTER))
def test_a_page_does_what_it_says_with_a_cluster(name: str) -> None:
    run_page(name, CLUSTER)
