"""See _plain.c."""

from typing import Any

import numpy.typing as npt
from typing_extensions import Buffer

def take(
    batches: Buffer,
    at: int,
    filled: int,
    first_offset: int,
    end_offset: int,
    state: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
    types: npt.NDArray[Any],
    edges: npt.NDArray[Any],
    flags: npt.NDArray[Any],
    keys: npt.NDArray[Any],
    values: npt.NDArray[Any],
    /,
) -> int: ...
