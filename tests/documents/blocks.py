"""The fenced blocks of a page, and what is to be done with each of them.

A page says what is unusual about a block in comments on the lines directly before its fence,
which readers do not see:

    <!-- not run: reason -->     the block cannot run in a test
    <!-- needs: spark -->        it runs in `make documents`, with Spark
    <!-- needs: cluster -->      the same, with three nodes instead of one
    <!-- file: worker.py -->     it is the contents of a file that a later block uses
    <!-- exit: 2 -->             its last command ends with this code

`needs` in the first lines of a page holds for all of it.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = {"sh", "python", "toml", "json", "ini"}
"""What a block that runs, or is checked, is written in."""
OUTPUTS = {"text", "console"}
NODE, SPARK, CLUSTER = "node", "spark", "cluster"
NOTES = {"not run", "needs", "file", "exit"}
HEAD_LINES = 4
"""In so many lines a page can say what all of it needs."""

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^`]*)$")
_COMMENT = re.compile(r"^ *<!--.*-->$")
_NOTE = re.compile(r"^ *<!-- (?P<name>[a-z ]+): (?P<value>.+?) -->$")


class PageFault(AssertionError):
    """A page is not as it should be: where, and what to do."""

    def __init__(self, page: str, line: int, text: str) -> None:
        super().__init__(f"{page}:{line}: {text}")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    """Of its first line within the fence, counted from one."""
    language: str
    text: str
    needs: str = NODE
    notes: dict[str, str] = field(default_factory=dict)
    output: str | None = None
    """What the page shows as its output; None where it shows nothing."""

    @property
    def is_excused(self) -> bool:
        return "not run" in self.notes

    @property
    def is_picture(self) -> bool:
        """Text which is nobody's output: a drawing, a listing."""
        return self.language == "text"

    def fault(self, text: str) -> PageFault:
        return PageFault(self.page, self.line, text)


def read_blocks(file: Path, name: str) -> list[Block]:
    return parse_blocks(file.read_text(encoding="utf-8"), name)


def parse_blocks(text: str, page: str) -> list[Block]:
    """All blocks of a page, outputs joined to what they are the output of. Raises PageFault."""
    lines = text.splitlines()
    found: list[Block] = []
    joined_until = -1
    """The line after the last block's fence, if only blank lines follow so far."""
    general = NODE
    notes: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if _COMMENT.match(line):
            note = _NOTE.match(line)
            is_before_fence = _is_before_fence(lines, at)
            at += 1
            if not note or note["name"] not in NOTES:
                if is_before_fence:
                    raise PageFault(page, at, f"before a block stands one of {sorted(NOTES)}")
            elif is_before_fence:
                notes[note["name"]] = _checked(note["name"], note["value"], page, at)
            elif note["name"] == "needs" and at <= HEAD_LINES:
                general = _checked("needs", note["value"], page, at)
            else:
                raise PageFault(page, at, "this comment stands directly before no fence")
            continue
        if not (fence := _FENCE.match(line)):
            if line.strip():
                joined_until = -1
            at += 1
            continue
        first = at + 1
        at = _end_of_fence(lines, first, page)
        content = textwrap.dedent("\n".join(lines[first:at]))
        at += 1
        language = fence["language"].strip()
        follows = joined_until >= 0 and found and not notes
        if follows and language in OUTPUTS | {""}:
            found[-1] = _with_output(found[-1], content)
            joined_until = -1
            continue
        block = Block(page, first + 1, language, content, notes.pop("needs", general), notes)
        _check_language(block)
        found.append(block)
        notes, joined_until = {}, (-1 if block.is_picture else at)
    _check_files(found)
    return found


def _is_before_fence(lines: list[str], at: int) -> bool:
    """Whether nothing but comments is between this line and a block."""
    following = next((line for line in lines[at:] if not _COMMENT.match(line)), "")
    return _FENCE.match(following) is not None


def _end_of_fence(lines: list[str], first: int, page: str) -> int:
    for at in range(first, len(lines)):
        if lines[at].strip() == "```":
            return at
    raise PageFault(page, first, "this fence is never closed")


def _with_output(block: Block, output: str) -> Block:
    return Block(
        block.page, block.line, block.language, block.text, block.needs, block.notes, output
    )


def _checked(name: str, value: str, page: str, line: int) -> str:
    if name == "needs" and value not in (SPARK, CLUSTER):
        raise PageFault(page, line, f"needs '{value}': only 'spark' and 'cluster' can be had")
    return value


def _check_language(block: Block) -> None:
    if block.is_excused or block.language in LANGUAGES or block.is_picture:
        return
    what = f"a block of '{block.language}'" if block.language else "a block without a language"
    raise block.fault(
        f"{what} neither runs nor is the output of the block before it."
        f" Name one of {', '.join(sorted(LANGUAGES))} after the fence; 'text' for a listing;"
        " 'text' or 'console', directly after a block, for its output;"
        " or say why it cannot run: <!-- not run: reason -->"
    )


def _check_files(blocks: list[Block]) -> None:
    for number, block in enumerate(blocks):
        name = block.notes.get("file")
        # A module is named without its ending.
        stem = name and name.removesuffix(".py")
        if stem and not any(stem in later.text for later in _used(blocks[number + 1 :])):
            raise block.fault(f"no later block that runs uses the file '{name}'")


def _used(blocks: list[Block]) -> Iterator[Block]:
    return (each for each in blocks if not each.is_excused and not each.is_picture)
