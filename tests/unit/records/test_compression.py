import struct
import subprocess
import sys

import aiokafka.codec as reference
import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.model.errors import BatchTooLarge, CorruptBatch, Refusal, UnsupportedCompression
from duolog.records.compression import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    compress,
    decompress,
)

CODECS = [NONE, GZIP, SNAPPY, LZ4, ZSTD]
COMPRESSING = CODECS[1:]
MIB = 1 << 20

REFERENCE_ENCODE = {
    GZIP: reference.gzip_encode,
    SNAPPY: reference.snappy_encode,
    LZ4: reference.lz4_encode,
    ZSTD: reference.zstd_encode,
}
REFERENCE_DECODE = {
    GZIP: reference.gzip_decode,
    SNAPPY: reference.snappy_decode,
    LZ4: reference.lz4_decode,
    ZSTD: reference.zstd_decode,
}

CONTENTS = st.one_of(
    st.binary(max_size=2_000),
    st.builds(lambda piece, times: piece * times, st.binary(min_size=1), st.integers(1, 5_000)),
)


@pytest.mark.parametrize("codec", CODECS)
@given(content=CONTENTS)
@settings(max_examples=40, deadline=None)
def test_what_is_compressed_is_read_back(codec: int, content: bytes) -> None:
    compressed = compress(codec, content)
    assert decompress(codec, compressed, bytes_max=len(content)) == content


@pytest.mark.parametrize("codec", COMPRESSING)
@given(content=CONTENTS.filter(bool))
@settings(max_examples=40, deadline=None)
def test_aiokafka_reads_ours_and_we_read_aiokafkas(codec: int, content: bytes) -> None:
    assert REFERENCE_DECODE[codec](compress(codec, content)) == content
    theirs = bytes(REFERENCE_ENCODE[codec](content))
    assert decompress(codec, theirs, bytes_max=len(content)) == content


@pytest.mark.parametrize("codec", CODECS)
def test_any_buffer_is_taken(codec: int) -> None:
    content = bytearray(b"content" * 100)
    compressed = compress(codec, memoryview(content))
    assert decompress(codec, memoryview(bytearray(compressed)), bytes_max=MIB) == content


def test_bare_snappy_is_read_as_librdkafka_writes_it() -> None:
    content = b"message" * 1_000
    assert decompress(SNAPPY, cramjam.snappy.compress_raw(content), bytes_max=MIB) == content


def test_xerial_versions_in_the_wrong_byte_order_do_not_matter() -> None:
    framed = bytearray(compress(SNAPPY, b"content"))
    framed[8:16] = struct.pack("<ii", 1, 1)
    assert decompress(SNAPPY, framed, bytes_max=MIB) == b"content"


def test_lz4_blocks_do_not_refer_to_each_other() -> None:
    frame = compress(LZ4, b"content" * 100_000)
    independent_blocks = 0x20
    assert frame[4] & independent_blocks


def test_gzip_of_several_members_is_one_content() -> None:
    members = compress(GZIP, b"one") + compress(GZIP, b"two")
    assert decompress(GZIP, members, bytes_max=MIB) == b"onetwo"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    with pytest.raises(UnsupportedCompression):
        compress(codec, b"content")
    with pytest.raises(UnsupportedCompression):
        decompress(codec, b"content", bytes_max=MIB)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 100, 100_000, MIB])
def test_one_byte_too_many_is_too_large(codec: int, size: int) -> None:
    with pytest.raises(BatchTooLarge):
        decompress(codec, compress(codec, b"x" * size), bytes_max=size - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_truncated_data_is_corrupt(codec: int) -> None:
    compressed = compress(codec, bytes(range(256)) * 8)
    for length in (0, 1, 4, 17, len(compressed) // 2, len(compressed) - 1):
        with pytest.raises(CorruptBatch):
            decompress(codec, compressed[:length], bytes_max=MIB)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_bytes_after_the_end_are_corrupt(codec: int) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, compress(codec, b"content" * 50) + b"tail", bytes_max=MIB)


@pytest.mark.parametrize("codec", COMPRESSING)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_hostile_bytes_are_only_ever_refused(codec: int, data: st.DataObject) -> None:
    hostile = bytearray(compress(codec, b"some content, some content" * 20))
    for _ in range(data.draw(st.integers(1, 4))):
        hostile[data.draw(st.integers(0, len(hostile) - 1))] = data.draw(st.integers(0, 255))
    for candidate in (hostile, data.draw(st.binary(max_size=200))):
        try:
            content = decompress(codec, candidate, bytes_max=4_096)
        except Refusal:
            continue
        assert len(content) <= 4_096


def test_a_snappy_length_is_not_believed() -> None:
    four_gigabytes = b"\xff\xff\xff\xff\x0f"
    with pytest.raises(BatchTooLarge):
        decompress(SNAPPY, four_gigabytes + b"\x00" * 20, bytes_max=MIB)


def test_snappy_blocks_are_bounded_together() -> None:
    block = bytes(cramjam.snappy.compress_raw(b"\x00" * 65_536))
    framed = compress(SNAPPY, b"") + (struct.pack(">I", len(block)) + block) * 17
    with pytest.raises(BatchTooLarge):
        decompress(SNAPPY, framed, bytes_max=MIB)


BOMB_BYTES = 512 * MIB
BOMB_TRIAL = """
import sys
from duolog.model.errors import BatchTooLarge
from duolog.records.compression import decompress
codec, bytes_max = int(sys.argv[1]), int(sys.argv[2])
bomb = sys.stdin.buffer.read()
def peak_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
before = peak_kib()
try:
    decompress(codec, bomb, bytes_max=bytes_max)
except BatchTooLarge:
    print(peak_kib() - before)
"""


@pytest.fixture
def half_a_gigabyte(codec: int) -> bytes:
    """A few hundred kilobytes of compressed zeros, made without ever holding them all."""
    zeros = bytes(8 * MIB)
    return compress(codec, zeros) * (BOMB_BYTES // len(zeros))


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_a_bomb_takes_no_more_memory_than_it_is_given(codec: int, half_a_gigabyte: bytes) -> None:
    # In a process of its own, as the peak of this one was set by other tests; and by
    # VmHWM, as the peak that getrusage tells is inherited from the parent.
    bytes_max = 4 * MIB
    trial = subprocess.run(
        [sys.executable, "-c", BOMB_TRIAL, str(codec), str(bytes_max)],
        input=half_a_gigabyte,
        capture_output=True,
        check=True,
    )
    grown_bytes = int(trial.stdout) * 1_024
    codec_buffers_bytes = 8 * MIB
    assert grown_bytes < 2 * bytes_max + codec_buffers_bytes
