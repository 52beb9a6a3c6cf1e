"""File names in a partition's directory."""

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
SEGMENT_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX)
"""Suffixes of a segment's files. The log is last: when all are renamed, its name completes it."""

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

OFFSET_DIGITS = 20


def offset_name(offset: int) -> str:
    return f"{offset:0{OFFSET_DIGITS}d}"


def parse_name(name: str) -> tuple[int, str] | None:
    """The offset in a file's name, and the suffix; None for any other name."""
    digits, rest = name[:OFFSET_DIGITS], name[OFFSET_DIGITS:]
    if len(digits) != OFFSET_DIGITS or not digits.isdecimal() or not rest.startswith("."):
        return None
    return int(digits), rest
