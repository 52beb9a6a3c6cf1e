"""See _rows.c."""

from collections.abc import Sequence

def json_rows(
    before: bytes,
    behind: bytes,
    labels: tuple[bytes, ...],
    columns: tuple[Sequence[str] | Sequence[bytes], ...],
    sizes: tuple[int, ...],
    counts: Sequence[int],
    /,
) -> list[bytes]: ...
def plain_sends(content: bytes, /) -> tuple[str, list[str], list[bytes]] | None: ...
def plain_deletes(content: bytes, /) -> tuple[str, list[str], list[str]] | None: ...
