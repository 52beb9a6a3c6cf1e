"""CRC32C of a batch: everything from the attributes on, computed in C.

Everything before is patched by the broker when it stores the batch (see patch.py).
"""

from struct import Struct

from crc32c import crc32c
from typing_extensions import Buffer

from duolog.records.header import CRC_AT, CRC_FROM

_CRC = Struct(">I")


def crc_of(batch: Buffer) -> int:
    return crc32c(memoryview(batch)[CRC_FROM:])


def is_intact(batch: Buffer) -> bool:
    """True if the stored checksum matches the content. The batch holds its whole header."""
    stored: int = _CRC.unpack_from(batch, CRC_AT)[0]
    return stored == crc_of(batch)


def seal(batch: bytearray | memoryview) -> None:
    """Stores the checksum of the present content."""
    _CRC.pack_into(batch, CRC_AT, crc_of(batch))
