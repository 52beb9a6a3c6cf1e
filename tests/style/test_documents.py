"""Documents are short where they lead, and what they point at is there."""

import runpy
from pathlib import Path

import pytest
from tests.style.documents import anchors, is_there, links, named_paths, pages
from tests.style.sources import ROOT, name_of

README_WORDS_MAX = 750
PAGES = pytest.mark.parametrize("page", pages(), ids=name_of)


def test_the_front_page_is_read_in_a_few_minutes() -> None:
    words = len((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert words < README_WORDS_MAX, "move what is longer to docs/, and link to it"


@PAGES
def test_a_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    lost = []
    for target in links(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists() or (
            anchor and anchor not in anchors(file.read_text(encoding="utf-8"))
        ):
            lost.append(target)
    assert lost == [], f"{name_of(page)} links to what is not there"


@PAGES
def test_a_path_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lost = [path for path in named_paths(text) if not is_there(path)]
    assert lost == [], f"{name_of(page)} names files or folders that are not there"


def test_an_anchor_is_named_as_github_names_it() -> None:
    page = "# What has happened?\n## etcd's data\n## A `code` and more\n## etcd's data\n"
    assert anchors(page) == {"what-has-happened", "etcds-data", "a-code-and-more", "etcds-data-1"}


def test_a_path_is_told_from_other_words() -> None:
    text = "`core/queues` `broker/none.py` `10.0.0.1` `usage/journal` `duolog serve` `__usage`"
    assert list(named_paths(text)) == ["core/queues", "broker/none.py"]
    assert list(named_paths("`own.py`\n```sh\ncat > own.py\n```")) == []


def test_a_path_may_leave_out_its_first_folders() -> None:
    assert is_there("src/duolog/core/queues/delivery.py")
    assert is_there("core/queues/delivery")
    assert is_there("delivery.py")
    assert not is_there("core/delivery.py")


def test_the_picture_is_the_one_that_its_script_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_shape.py"))["picture"]()
    picture = (ROOT / "docs" / "shape.svg").read_text(encoding="utf-8")
    assert drawn == picture, "run `.venv/bin/python docs/draw_shape.py`"
