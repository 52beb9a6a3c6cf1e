"""Taking a place out of a tree, and putting it back."""

import re
from pathlib import Path

from tests.places.places import Cut


class NothingCut(AssertionError):
    """A pattern finds nothing any more: the code that it was written for has changed."""


def cut_texts(tree: Path, cut: Cut) -> dict[Path, str | None]:
    """The files that the cut changes, as they are without the place; None is no file."""
    found = sorted(path for path in tree.glob(cut.files) if path.is_file())
    if not cut.pattern:
        texts: dict[Path, str | None] = dict.fromkeys(found)
    else:
        texts = {}
        for path in found:
            text, count = re.subn(
                cut.pattern, cut.instead, path.read_text(encoding="utf-8"), flags=re.MULTILINE
            )
            if count:
                texts[path] = text
    if not texts:
        raise NothingCut(f"tests/places/places.py: nothing to cut in {cut.files}: {cut.pattern!r}")
    return texts


def take_out(tree: Path, cuts: tuple[Cut, ...]) -> dict[Path, bytes]:
    """One after the other. What the files were is for `put_back`."""
    before: dict[Path, bytes] = {}
    for cut in cuts:
        for path, text in cut_texts(tree, cut).items():
            before.setdefault(path, path.read_bytes())
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
    return before


def put_back(before: dict[Path, bytes]) -> None:
    for path, content in before.items():
        path.write_bytes(content)
