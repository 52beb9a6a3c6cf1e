"""See _records.c."""

from typing import Any

import numpy.typing as npt
from typing_extensions import Buffer

Strings = tuple[int, Buffer | None, Buffer, Buffer | None]
"""An Arrow array's offset and its buffers."""

def write(
    into: Buffer,
    at: int,
    first: int,
    stop: int,
    timestamps: npt.NDArray[Any],
    keys: Strings,
    values: Strings,
    headers: Strings,
    /,
) -> int: ...
