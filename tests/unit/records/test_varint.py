import pytest
from aiokafka.record.util import decode_varint as reference_decode
from aiokafka.record.util import encode_varint_py as reference_encode
from hypothesis import given
from hypothesis import strategies as st

from duolog.model.errors import CorruptBatch
from duolog.records.varint import encode_varint, read_varint

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(INT32)
def test_what_is_written_is_read_back(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(encoded, 0) == (value, len(encoded))


@given(INT64)
def test_timestamps_take_64_bits(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(b"x" + encoded, 1, 64) == (value, 1 + len(encoded))


@given(INT64)
def test_the_encoding_is_aiokafkas(value: int) -> None:
    reference = bytearray()
    reference_encode(value, reference.append)
    assert encode_varint(value) == reference
    assert reference_decode(encode_varint(value)) == (value, len(reference))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff", b"\x80\x80\x80\x80"])
def test_a_number_cut_short_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        read_varint(data, 0)


@pytest.mark.parametrize(
    ("data", "bits"),
    [
        (b"\xff\xff\xff\xff\x1f", 32),
        (b"\x80\x80\x80\x80\x80\x00", 32),
        (b"\xff" * 9 + b"\x02", 64),
        (b"\x80" * 10 + b"\x00", 64),
    ],
)
def test_a_number_of_too_many_bits_is_refused(data: bytes, bits: int) -> None:
    with pytest.raises(CorruptBatch):
        read_varint(data, 0, bits)
