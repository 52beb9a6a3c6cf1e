"""Codecs of record batches, all five, in the framings that Kafka clients write and read.

A client chooses what is decompressed here, so every allocation is bounded before it is made: a
batch of a kilobyte may claim to hold a gigabyte.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

import cramjam
from typing_extensions import Buffer

from duolog.model.errors import BatchTooLarge, CorruptBatch, UnsupportedCompression

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
CODEC_MAX: Final = ZSTD

_ZSTD_LEVEL = 3
"""Compression level as in Kafka; the codec's own default here would be 11, ten times slower."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_VERSIONS = Struct(">ii").pack(1, 1)
_XERIAL_HEADER_BYTES = len(_XERIAL_MAGIC) + len(_XERIAL_VERSIONS)
_XERIAL_BLOCK_BYTES = 32 * 1024
_XERIAL_LENGTH = Struct(">I")

_CAPACITY_BYTES_MIN = 64 * 1024
_CAPACITY_GROWTH = 8
"""Factor of the first guess and of each further one; most batches shrink by less."""

_OUTPUT_FULL = "failed to write whole buffer"
"""cramjam's error text when the data is longer than the buffer it was given."""


def compress(codec: int, data: Buffer) -> bytes:
    view = memoryview(data)
    if codec == NONE:
        return bytes(view)
    if codec == GZIP:
        return bytes(cramjam.gzip.compress(view))
    if codec == SNAPPY:
        return _compress_xerial(view)
    if codec == LZ4:
        # Java reads only frames whose blocks do not refer to each other.
        compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
        compressor.compress(bytes(view))
        return bytes(compressor.finish())
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(view, level=_ZSTD_LEVEL))
    raise UnsupportedCompression(f"compression {codec} is unknown")


def decompress(codec: int, data: Buffer, *, bytes_max: int) -> bytes:
    """The content, at most `bytes_max` of it.

    Raises BatchTooLarge if there is more, CorruptBatch if it cannot be read. Memory stays within
    twice `bytes_max` and a few megabytes for the codec itself, whatever `data` claims.
    """
    view = memoryview(data)
    if codec == NONE:
        if len(view) > bytes_max:
            raise _too_large(bytes_max)
        return bytes(view)
    try:
        if codec == GZIP:
            return _decompress_stream(cramjam.gzip.decompress_into, view, bytes_max)
        if codec == SNAPPY:
            return _decompress_snappy(view, bytes_max)
        if codec == LZ4:
            return _decompress_stream(cramjam.lz4.decompress_into, view, bytes_max)
        if codec == ZSTD:
            return _decompress_stream(cramjam.zstd.decompress_into, view, bytes_max)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"the records cannot be decompressed: {error}") from None
    raise UnsupportedCompression(f"compression {codec} is unknown")


def _decompress_stream(
    decompress_into: Callable[[memoryview, bytearray], int], data: memoryview, bytes_max: int
) -> bytes:
    """Decompresses framings that lack the content's length, or whose length cannot be trusted."""
    capacity = min(bytes_max, max(_CAPACITY_BYTES_MIN, _CAPACITY_GROWTH * len(data)))
    while True:
        content = bytearray(capacity)
        try:
            length = decompress_into(data, content)
        except cramjam.DecompressionError as error:
            if str(error) != _OUTPUT_FULL:
                raise
            if capacity == bytes_max:
                raise _too_large(bytes_max) from None
            capacity = min(bytes_max, _CAPACITY_GROWTH * capacity)
        else:
            return bytes(memoryview(content)[:length])


def _compress_xerial(data: memoryview) -> bytes:
    """Compresses in Java's framing of snappy: every client reads it, but not every one the bare
    form."""
    framed = bytearray(_XERIAL_MAGIC + _XERIAL_VERSIONS)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES])
        framed += _XERIAL_LENGTH.pack(len(block))
        framed += bytes(block)
    return bytes(framed)


def _decompress_snappy(data: memoryview, bytes_max: int) -> bytes:
    """Decompresses both forms: librdkafka writes the bare one."""
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_block(data, bytes_max)
    # The versions after the magic are ignored: some producers write them in the wrong byte order,
    # and there has only ever been one.
    content = bytearray()
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        if at + _XERIAL_LENGTH.size > len(data):
            raise CorruptBatch("the records end inside the length of a snappy block")
        (length,) = _XERIAL_LENGTH.unpack_from(data, at)
        at += _XERIAL_LENGTH.size
        if length > len(data) - at:
            raise CorruptBatch("a snappy block reaches beyond the records")
        content += _decompress_block(data[at : at + length], bytes_max - len(content))
        at += length
    return bytes(content)


def _decompress_block(block: memoryview, bytes_max: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > bytes_max:
        raise _too_large(bytes_max)
    return bytes(cramjam.snappy.decompress_raw(block))


def _too_large(bytes_max: int) -> BatchTooLarge:
    return BatchTooLarge(f"the records take more than {bytes_max} bytes when decompressed")
