"""Decides whether a produced batch may be appended.

check_batch is on the hot path: it reads the header, the checksum and the first record, never each
one. A batch that passes may still be nonsense under a correct checksum; readers that open it later
do so through body.py, which trusts nothing.
"""

from crc32c import crc32c

from duolog.model.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    Refusal,
    UnsupportedCompression,
    UnsupportedFormat,
)
from duolog.model.limits import RECORDS_PER_BATCH_MAX
from duolog.records.body import open_body, read_headers, walk
from duolog.records.compression import CODEC_MAX
from duolog.records.header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    CRC_FROM,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
)
from duolog.records.record import RECORD_BYTES_MIN
from duolog.records.varint import read_varint

_BROKER_BITS = CONTROL_BIT | LOG_APPEND_TIME_BIT | DELETE_HORIZON_BIT
"""Attributes that only a broker may set."""

_unpack_header = HEADER.unpack_from
_new_tuple = tuple.__new__


def check_batch(data: memoryview, bytes_max: int) -> BatchHeader:
    """The header of the one batch in `data`; raises the refusal if it is not acceptable."""
    size = len(data)
    if size < HEADER_BYTES:
        raise _refusal_of_short(data)
    fields = _unpack_header(data)
    (
        _,
        length,
        _,
        magic,
        crc,
        attributes,
        last_offset_delta,
        _,
        _,
        producer_id,
        _,
        sequence,
        count,
    ) = fields
    if magic != MAGIC:
        raise _refusal_of_format(magic)
    if length != size - LENGTH_PREFIX_BYTES:
        raise CorruptBatch("the batch is not as long as it says, or others follow it")
    if size > bytes_max:
        raise BatchTooLarge(f"a batch of {size} bytes exceeds the limit of {bytes_max}")
    if crc32c(data[CRC_FROM:]) != crc:
        raise CorruptBatch("the checksum of the batch is wrong")
    if not 0 <= last_offset_delta == count - 1:
        raise CorruptBatch("the record count does not match the offsets of the batch")
    if attributes & _BROKER_BITS:
        raise _refusal_of_attributes(attributes)
    if producer_id >= 0 > sequence:
        raise InvalidRecord("a batch with a producer id has to have a sequence")
    codec = attributes & COMPRESSION_MASK
    if not codec:
        if count * RECORD_BYTES_MIN > size - HEADER_BYTES:
            raise CorruptBatch(f"{count} records cannot be in a batch of {size} bytes")
        # The first record's length, read in place if it takes two bytes, as it mostly does: a call
        # would cost more than all the comparisons here.
        first, second = data[HEADER_BYTES], data[HEADER_BYTES + 1]
        if first >= 0x80 > second:
            length = -1 if first & 1 else (first & 0x7F | second << 7) >> 1
            end = HEADER_BYTES + 2 + length
        else:
            length, at = read_varint(data, HEADER_BYTES)
            end = at + length
        if length < 0 or end > size or (count == 1 and end != size):
            raise CorruptBatch("the first record does not fit the batch")
    elif codec > CODEC_MAX:
        raise UnsupportedCompression(f"compression {codec} is unknown")
    elif count > RECORDS_PER_BATCH_MAX or size == HEADER_BYTES:
        # The count of an unopened batch is trusted, and a false one would use up offsets by the
        # billion.
        raise CorruptBatch(f"{count} records cannot be in a batch of {size} bytes")
    return _new_tuple(BatchHeader, fields)


def check_records(
    batch: memoryview, header: BatchHeader, *, decompressed_bytes_max: int, keys_required: bool
) -> None:
    """Opens a batch that passed check_batch and checks every record in it.

    A compacted topic takes only records with a key: without one, nothing would ever replace them.
    """
    body = open_body(header, batch, decompressed_bytes_max=decompressed_bytes_max)
    for offset, _, key, _, value_end, _, end in walk(header, body):
        read_headers(body, value_end, end)
        if keys_required and key is None:
            index = offset - header.base_offset
            raise InvalidRecord(f"record {index} has no key, and the topic is compacted")


def _refusal_of_short(data: memoryview) -> Refusal:
    # A message of the old formats can be shorter than a header; its format is at the same place.
    if len(data) > MAGIC_AT and data[MAGIC_AT] < MAGIC:
        return _refusal_of_format(data[MAGIC_AT])
    return CorruptBatch("the batch ends inside its header")


def _refusal_of_format(magic: int) -> Refusal:
    if 0 <= magic < MAGIC:
        return UnsupportedFormat(
            f"messages of format {magic} are not supported, only record batches"
        )
    return CorruptBatch(f"a batch of format {magic}")


def _refusal_of_attributes(attributes: int) -> Refusal:
    if attributes & LOG_APPEND_TIME_BIT:
        return InvalidTimestamp("only the broker may set the LogAppendTime attribute")
    return InvalidRecord("only the broker writes control batches and delete horizons")
