from pathlib import Path

import pytest

from duolog.records.builder import build_batch
from duolog.records.record import Record
from pyspark_duolog.codec import plain
from pyspark_duolog.codec.decode import PART_BYTES
from pyspark_duolog.source.planning import Range
from pyspark_duolog.source.segments import sealed_chunks

KINDS = {"plain": [0], "compressed": [1], "both": [0, 0, 1, 0]}
VALUE = b"v" * 1000
PER_BATCH = 20
BATCHES = 200


@pytest.fixture(params=[True, False], ids=["compiled", "not compiled"], autouse=True)
def is_compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(plain, "_plain", None)


def write(directory: Path, compressions: list[int], *, broken: int | None = None) -> None:
    """Three segments, of which the last is not sealed."""
    offset = 0
    for _ in range(3):
        with (directory / f"{offset:020d}.log").open("wb") as file:
            for number in range(BATCHES):
                batch = build_batch(
                    [Record(value=VALUE)] * PER_BATCH,
                    base_offset=offset,
                    compression=compressions[number % len(compressions)],
                )
                batch[-1] ^= offset == broken
                file.write(batch)
                offset += PER_BATCH


def offsets(directory: Path, first_offset: int, end_offset: int) -> list[int]:
    wanted = Range("topic", "id", 0, first_offset, end_offset)
    found: list[int] = []
    for chunk in sealed_chunks(directory, wanted, ["offset", "value"], 16 << 20):
        for rows in chunk.rows:
            assert set(rows["value"].to_pylist()) <= {VALUE}
            found += rows["offset"].to_pylist()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_sealed_is_read_whatever_it_is_made_of(tmp_path: Path, kind: str) -> None:
    write(tmp_path, KINDS[kind])
    sealed = 2 * BATCHES * PER_BATCH
    assert sealed * len(VALUE) > PART_BYTES
    assert offsets(tmp_path, 0, 1 << 40) == list(range(sealed))


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_wanted_is_read(tmp_path: Path, kind: str) -> None:
    write(tmp_path, KINDS[kind])
    assert offsets(tmp_path, 1234, 5678) == list(range(1234, 5678))


@pytest.mark.parametrize("kind", KINDS)
def test_reading_ends_before_a_batch_that_is_damaged(tmp_path: Path, kind: str) -> None:
    write(tmp_path, KINDS[kind], broken=4100)
    read = offsets(tmp_path, 0, 1 << 40)
    assert read == list(range(len(read)))
    assert len(read) <= 4100


def test_a_batch_larger_than_what_is_read_at_a_time_is_read_too(tmp_path: Path) -> None:
    large = build_batch([Record(value=VALUE)] * 1000)
    (tmp_path / f"{0:020d}.log").write_bytes(large)
    (tmp_path / f"{1000:020d}.log").write_bytes(b"")
    assert offsets(tmp_path, 0, 1000) == list(range(1000))
