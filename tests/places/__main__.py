"""Takes out each place that CONTRIBUTING.md names, in a copy of the tree, and shows what fails.

`.venv/bin/python -m tests.places` does all of them, in minutes; words after it choose kinds
("pipeline"). For each place the tests that watch it are run and, only where these pass, all that
`make check` runs. It ends with 1 unless every place was missed in words that say what is missing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.places.cutting import put_back, take_out
from tests.places.places import PLACES, Place

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 1_200
WHOLE = ("make", "--no-print-directory", "-o", ".venv/stamps/dev", "lint", "fast")
"""As `make check`, but nothing is installed into the environment, which is the tree's own."""


class Finding(NamedTuple):
    place: Place
    failed: str
    """The tests, or `make check`, that failed; empty if nothing did."""
    words: str
    """The line that says what is missing; empty if there is none."""


def copy_tree(to: Path) -> None:
    """What is or could be committed, and the modules that were compiled."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    names += [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.so")]
    for name in names:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    (to / ".venv").symlink_to(ROOT / ".venv")


def run(tree: Path, command: Sequence[str]) -> tuple[int, str]:
    """With the copy's packages instead of those that are installed."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX
    )
    return done.returncode, done.stdout + done.stderr


def find_out(tree: Path, place: Place) -> Finding:
    watch = (sys.executable, "-m", *place.watch.split())
    before = take_out(tree, place.cuts)
    try:
        failed = place.watch
        code, output = run(tree, watch)
        if code == 0:
            failed = "make check"
            code, output = run(tree, WHOLE)
    finally:
        put_back(before)
    if code == 0:
        return Finding(place, "", "")
    return Finding(place, failed, said(output, place.words).replace(f"{tree}/", ""))


def said(output: str, words: str) -> str:
    """The line that has the words, or the lines; empty if none has."""
    found = []
    for match in re.finditer(words, output):
        begin = output.rfind("\n", 0, match.start()) + 1
        found.append(output[begin : output.find("\n", match.end())])
    # What pytest marks is what failed; the other lines may be those of the test.
    found.sort(key=lambda text: not text.startswith("E "))
    return " ".join(re.sub(r"^E? +", "", line) for line in found[0].splitlines()) if found else ""


def check_the_copy(tree: Path, places: Sequence[Place]) -> None:
    """Unharmed it passes, and it is the copy that is tested."""
    told = run(tree, (sys.executable, "-c", "import duolog; print(duolog.__file__)"))[1]
    assert told.strip() == str(tree / "src" / "duolog" / "__init__.py"), told
    for watch in sorted({place.watch for place in places}):
        code, output = run(tree, (sys.executable, "-m", *watch.split()))
        assert code == 0, f"{watch} fails although everything is in its place:\n{output}"


def show(finding: Finding) -> None:
    place = finding.place
    where = f"{place.path} {place.name}".strip()
    words = finding.words.replace("|", "\\|") or "**nothing that says so**"
    print(f"| {place.kind} | {where} | {finding.failed or '**nothing**'} | {words} |", flush=True)


def main(wanted: Sequence[str]) -> int:
    places = [
        place
        for place in PLACES
        if not wanted or any(word.lower() in place.kind.lower() for word in wanted)
    ]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="duolog-places-") as directory:
        tree = Path(directory).resolve() / "tree"
        copy_tree(tree)
        check_the_copy(tree, places)
        print("| kind | place that is taken out | what fails | its words |\n|---|---|---|---|")
        for place in places:
            finding = find_out(tree, place)
            show(finding)
            missed += not finding.words
    print(f"\n{len(places) - missed} of {len(places)} places are missed in words.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
