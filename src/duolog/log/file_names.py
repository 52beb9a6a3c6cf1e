"""What the files in a partition's directory are called."""

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
SEGMENT_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, LOG_SUFFIX)
"""The log comes last: where all are renamed, its name is what says that it is done."""

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

OFFSET_DIGITS = 20


def offset_name(offset: int) -> str:
    return f"{offset:0{OFFSET_DIGITS}d}"


def parse_name(name: str) -> tuple[int, str] | None:
    """The offset that a file is named by, and its suffix; None for any other name."""
    digits, rest = name[:OFFSET_DIGITS], name[OFFSET_DIGITS:]
    if len(digits) != OFFSET_DIGITS or not digits.isdecimal() or not rest.startswith("."):
        return None
    return int(digits), rest
