"""Zigzag varints by the thousand: read in place, or written side by side."""

from typing import Any

import numpy as np
import numpy.typing as npt

from duolog.model.errors import CorruptBatch

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

VARINT_BYTES_MAX = 10

_CONTINUES = 0x80
_LOW_BITS = 0x7F
_BITS_PER_BYTE = 7


def read_varints(data: Bytes, at: Integers, bits: int = 32) -> tuple[Integers, Integers]:
    """Numbers of at most `bits` at each position, and their ends.

    CorruptBatch if one is longer, or runs out of `data`.
    """
    try:
        return _read_varints(data, at, bits)
    except IndexError:
        raise CorruptBatch("the records end inside a number") from None


def _read_varints(data: Bytes, at: Integers, bits: int) -> tuple[Integers, Integers]:
    alike = _read_alike(data, at)
    return _read_any(data, at, bits) if alike is None else alike


def _read_alike(data: Bytes, at: Integers) -> tuple[Integers, Integers] | None:
    """Numbers that all take one byte, or all two, as in most fields; None if they do not."""
    first = data[at]
    ends = at + 1
    goes_on = first >= _CONTINUES
    zigzag = first.astype(np.int64)
    if goes_on.all():
        second = data[ends]
        if np.any(second >= _CONTINUES):
            return None
        ends += 1
        # Less one, because the first byte's continuation bit counts as one here.
        zigzag += (second.astype(np.int64) - 1) << _BITS_PER_BYTE
    elif goes_on.any():
        return None
    return (zigzag >> 1) ^ -(zigzag & 1), ends


def _read_any(data: Bytes, at: Integers, bits: int) -> tuple[Integers, Integers]:
    byte = data[at]
    zigzag = (byte & _LOW_BITS).astype(np.uint64)
    ends = at + 1
    going_on = np.flatnonzero(byte >= _CONTINUES)
    shift = 0
    while going_on.size:
        shift += _BITS_PER_BYTE
        if shift >= bits:
            raise CorruptBatch(f"a number of more than {bits} bits")
        byte = data[ends[going_on]]
        if shift + _BITS_PER_BYTE > bits and np.any(byte >> (bits - shift)):
            raise CorruptBatch(f"a number of more than {bits} bits")
        zigzag[going_on] |= (byte & _LOW_BITS).astype(np.uint64) << np.uint64(shift)
        ends[going_on] += 1
        going_on = going_on[byte >= _CONTINUES]
    halves = (zigzag >> np.uint64(1)).view(np.int64)
    return halves ^ -(zigzag & np.uint64(1)).view(np.int64), ends


def varint_sizes(values: Integers) -> Integers:
    """Encoded size of each number in bytes."""
    return _sizes(_zigzag(values))


def _sizes(zigzag: npt.NDArray[np.uint64]) -> Integers:
    sizes = np.ones(len(zigzag), np.int64)
    largest = int(zigzag.max(initial=0))
    shift = _BITS_PER_BYTE
    while largest >> shift:
        sizes += zigzag >= np.uint64(1 << shift)
        shift += _BITS_PER_BYTE
    return sizes


def write_varints(values: Integers) -> tuple[Bytes, npt.NDArray[Any]]:
    """A row of bytes for each number, and a mask of those that belong to it.

    Rows are as wide as the longest number. The masked bytes, row by row, are the encoded numbers
    one after another; rows of several fields can be put side by side first.
    """
    zigzag = _zigzag(values)
    sizes = _sizes(zigzag)
    width = int(sizes.max(initial=1))
    if width == 1:
        return zigzag.astype(np.uint8)[:, None], np.ones((len(values), 1), np.bool_)
    places = np.arange(width)
    shifts = (places * _BITS_PER_BYTE).astype(np.uint64)
    rows = ((zigzag[:, None] >> shifts) & np.uint64(_LOW_BITS)).astype(np.uint8)
    rows |= np.where(places < sizes[:, None] - 1, _CONTINUES, 0).astype(np.uint8)
    return rows, places < sizes[:, None]


def _zigzag(values: Integers) -> npt.NDArray[np.uint64]:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)
