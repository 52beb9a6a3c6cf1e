"""What lines of a page's shell blocks are to a test: some cannot run as they are, some must not."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

CHANGING = (
    "adduser apt apt-get chgrp chown dpkg groupadd iptables killall mount nft pkill runuser"
    " service su sudo sysctl systemctl umount useradd"
)
"""Programs that change the machine on which the tests run, and not only a scratch folder."""

_CHANGING = re.compile(rf"(?<![\w./-])(?:{'|'.join(CHANGING.split())})(?![\w./-])")
_OUTSIDE = re.compile(r"(?<![\w.:/$}~*-])/(?!dev/(?:null|stdin|stdout|stderr)\b)\w[\w./-]*")
_VARIABLE = re.compile(r"[A-Z_]+=.*")


def why_not(text: str) -> str:
    """Why this must not run where tests run; empty if it may."""
    if found := _CHANGING.search(text):
        return f"'{found[0]}' changes the machine"
    if found := _OUTSIDE.search(text):
        return f"'{found[0]}' is outside of the scratch folder; name a relative path"
    return ""


def parts_of(text: str) -> Iterator[tuple[str, bool]]:
    """Commands that are not given to the shell (True), and all between them as it is."""
    plain: list[str] = []
    for line in re.findall(r"(?:.*\\\n)*.*\n?", text):
        whole = line.replace("\\\n", " ").strip()
        if not _is_special(whole):
            plain.append(line)
            continue
        if "".join(plain).strip():
            yield "".join(plain), False
        plain = []
        yield whole, True
    if "".join(plain).strip():
        yield "".join(plain), False


def served_by(line: str) -> tuple[list[str], dict[str, str]] | None:
    """Options and variables of a `duolog serve`, or of a `make run`; None of any other line."""
    words = shlex.split(line, comments=True)
    environ: dict[str, str] = {}
    while words and _VARIABLE.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        environ[name] = value
    if words[-1:] == ["&"]:
        words.pop()
    if words[:2] == ["make", "run"]:
        given = "".join(word.removeprefix("ARGS=") for word in words[2:])
        return ["--set", "log.format=text", *shlex.split(given)], environ
    if words[1:2] == ["serve"] and Path(words[0]).name == "duolog":
        return words[2:], environ
    return None


def is_of_pip(line: str) -> bool:
    return re.match(r"(\S*/)?(python3? -m )?pip3? ", line) is not None


def _is_special(line: str) -> bool:
    if is_of_pip(line) or re.match(r"make\b", line):
        return True
    return bool(re.search(r"\bduolog serve\b", line)) and served_by(line) is not None
