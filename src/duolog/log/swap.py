"""Replaces segments by the rewritten ones, so that a crash finishes or discards each swap.

A rewritten segment is written as `<base>-<end>.log.cleaned`, then renamed to `.swap`, then to its
final name. Once the log's `.swap` name is durable the swap is committed: after any crash, opening
the log finishes it. Before that, opening discards it.
"""

from duolog.log.checked_file import TEMPORARY_SUFFIX
from duolog.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_DIGITS,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    offset_name,
    parse_name,
)
from duolog.ports.disk import Disk, Syncable

_LEFTOVER_SUFFIXES = (CLEANED_SUFFIX, DELETED_SUFFIX, TEMPORARY_SUFFIX)


def cleaned_stem(directory: str, base_offset: int, end_offset: int) -> str:
    """Path without suffix; the two offsets in it name the segments that it replaces."""
    return f"{directory}/{offset_name(base_offset)}-{offset_name(end_offset)}"


def commit_swap(
    disk: Disk, directory: str, base_offset: int, end_offset: int, entries: Syncable
) -> None:
    """Commits the swap, durably: the cleaned segment replaces its originals.

    `entries` is the directory, which the caller has opened before: from here on there is no way
    back, so nothing may fail for want of a file descriptor.
    """
    stem = cleaned_stem(directory, base_offset, end_offset)
    for suffix in SEGMENT_SUFFIXES:
        _rename_present(disk, stem + suffix + CLEANED_SUFFIX, stem + suffix + SWAP_SUFFIX)
    entries.sync()


def finish_swap(
    disk: Disk, directory: str, base_offset: int, end_offset: int, entries: Syncable
) -> None:
    """Gives the swapped segment its final name; its originals have been removed."""
    stem = cleaned_stem(directory, base_offset, end_offset)
    final = f"{directory}/{offset_name(base_offset)}"
    for suffix in SEGMENT_SUFFIXES:
        _rename_present(disk, stem + suffix + SWAP_SUFFIX, final + suffix)
    entries.sync()


def discard_cleaned(disk: Disk, directory: str, base_offset: int, end_offset: int) -> None:
    stem = cleaned_stem(directory, base_offset, end_offset)
    for suffix in SEGMENT_SUFFIXES:
        disk.remove(stem + suffix + CLEANED_SUFFIX)


def settle_leftovers(disk: Disk, directory: str, names: list[str]) -> list[str]:
    """Finishes or discards interrupted swaps; returns the names that remain."""
    if not any(name.endswith((*_LEFTOVER_SUFFIXES, SWAP_SUFFIX)) for name in names):
        return names
    for name in names:
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            _finish_found(disk, directory, name, names)
    for name in disk.list_names(directory):
        if name.endswith((*_LEFTOVER_SUFFIXES, SWAP_SUFFIX)):
            disk.remove(f"{directory}/{name}")
    disk.directory(directory).sync()
    return disk.list_names(directory)


def _finish_found(disk: Disk, directory: str, name: str, names: list[str]) -> None:
    """Finishes a swap, unless the log has changed at its place.

    While a swap is under way the next segment stays. If none begins at the swap's end, later
    records cross that end, and the swap would replace records that it never saw.
    """
    base_offset = int(name[:OFFSET_DIGITS])
    end_offset = int(name[OFFSET_DIGITS + 1 : 2 * OFFSET_DIGITS + 1])
    if offset_name(end_offset) + LOG_SUFFIX not in names:
        return
    for other in names:
        parsed = parse_name(other)
        if parsed and parsed[1] in SEGMENT_SUFFIXES and base_offset < parsed[0] < end_offset:
            disk.remove(f"{directory}/{other}")
    finish_swap(disk, directory, base_offset, end_offset, disk.directory(directory))


def _rename_present(disk: Disk, source: str, target: str) -> None:
    if disk.exists(source):
        disk.rename(source, target)
