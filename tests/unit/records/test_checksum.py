import pytest

from duolog.records.builder import build_batch
from duolog.records.checksum import crc_of, is_intact, seal
from duolog.records.header import CRC_AT, CRC_FROM, read_header
from duolog.records.record import Record


def test_the_checksum_is_crc32c() -> None:
    # The check value that the polynomial is published with.
    assert crc_of(bytes(CRC_FROM) + b"123456789") == 0xE3069283


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_built_batch_is_intact(kind: type) -> None:
    batch = build_batch([Record(value=b"value")])
    assert is_intact(kind(batch))
    assert crc_of(kind(batch)) == read_header(batch).crc


def test_any_changed_bit_under_the_checksum_is_noticed() -> None:
    batch = build_batch([Record(value=b"value")])
    for at in range(CRC_AT, len(batch)):
        batch[at] ^= 0x10
        assert not is_intact(batch)
        batch[at] ^= 0x10
    assert is_intact(batch)


def test_what_the_broker_patches_is_not_covered() -> None:
    batch = build_batch([Record(value=b"value")])
    batch[:CRC_AT] = bytes(CRC_AT)
    assert is_intact(batch)


def test_sealing_makes_a_changed_batch_intact() -> None:
    batch = build_batch([Record(value=b"value")])
    batch[-1] ^= 0xFF
    seal(memoryview(batch))
    assert is_intact(batch)
