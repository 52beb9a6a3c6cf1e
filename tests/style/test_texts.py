"""What no file of the project may hold."""

import re

from tests.style.sources import name_of, text_files

# Spelled in pieces, so that this file passes its own test.
FORBIDDEN = {
    "an unfinished thought": re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"),
    "figures that are not filled in": re.compile(r"^PERFORM" r"ANCE$", re.MULTILINE),
    "a path of one machine": re.compile(r"(?<![\w.])/(?:ho" r"me|ro" r"ot|Us" r"ers)/\w"),
    "a package index": re.compile(r"index" r"-url|py" r"pi\.org/simple|find" r"-links", re.I),
    "an issue's number": re.compile(r"\bissue" r" #?\d+|\(#\d+\)", re.IGNORECASE),
}


def test_no_file_holds_anything_of_one_machine_or_moment() -> None:
    texts = {name_of(file): file.read_text(encoding="utf-8") for file in text_files()}
    assert [
        f"{name}: {what}, '{match[0]}'"
        for name, text in texts.items()
        for what, pattern in FORBIDDEN.items()
        if (match := pattern.search(text))
    ] == []


def test_dependencies_are_pinned_by_name_and_version_only() -> None:
    (constraints,) = [file for file in text_files() if file.name == "constraints.txt"]
    for line in constraints.read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line
