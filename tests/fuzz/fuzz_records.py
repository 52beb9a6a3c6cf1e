"""Hostile record batches: whatever the bytes, only a refusal may come out.

Run as `python tests/fuzz/fuzz_records.py -max_total_time=60`, or with `-atheris_runs=N`.
"""

import sys

import atheris

with atheris.instrument_imports(include=["duolog"]):
    from duolog.model.errors import Refusal
    from duolog.records.builder import build_batch, rebuild_batch
    from duolog.records.checksum import seal
    from duolog.records.compression import compress, decompress
    from duolog.records.header import (
        ATTRIBUTES_AT,
        HEADER_BYTES,
        LENGTH_AT,
        LENGTH_PREFIX_BYTES,
        read_header,
    )
    from duolog.records.iterator import iter_batches, iter_keys, iter_records
    from duolog.records.record import Record
    from duolog.records.validation import check_batch, check_records

BYTES_MAX = 64 * 1024
CODECS = range(8)
PLAIN = build_batch(
    [
        Record(b"key", b"value" * 30, (("name", b"x"), ("none", None)), 1_000),
        Record(None, b"", (), 1_500),
        Record(b"k", None, (), 900),
    ]
)
VALID = [
    build_batch(list(iter_records(PLAIN, decompressed_bytes_max=BYTES_MAX)), compression=codec)
    for codec in range(5)
]


def hostile_batch(choices: atheris.FuzzedDataProvider) -> bytearray:
    """Bytes that get past the outer checks as often as not, so that the inner ones are met."""
    kind = choices.ConsumeIntInRange(0, 3)
    if kind == 0:
        return bytearray(choices.ConsumeBytes(BYTES_MAX))
    if kind == 1:
        batch = bytearray(choices.PickValueInList(VALID))
        for _ in range(choices.ConsumeIntInRange(1, 6)):
            batch[choices.ConsumeIntInRange(0, len(batch) - 1)] = choices.ConsumeIntInRange(0, 255)
        if choices.ConsumeBool():
            seal(batch)
        return batch
    codec = choices.ConsumeIntInRange(0, 4)
    header = bytearray(PLAIN[:HEADER_BYTES])
    header[ATTRIBUTES_AT + 1] = codec
    header[-1] = choices.ConsumeIntInRange(0, 4)
    body = choices.ConsumeBytes(BYTES_MAX)
    batch = header + (compress(codec, body) if kind == 2 else body)
    batch[LENGTH_AT : LENGTH_AT + 4] = (len(batch) - LENGTH_PREFIX_BYTES).to_bytes(4, "big")
    seal(batch)
    return batch


def open_in_every_way(batch: bytearray) -> None:
    view = memoryview(batch)
    try:
        header = check_batch(view, bytes_max=BYTES_MAX)
        check_records(view, header, decompressed_bytes_max=BYTES_MAX, keys_required=True)
    except Refusal:
        pass
    try:
        records = list(iter_records(view, decompressed_bytes_max=BYTES_MAX))
    except Refusal:
        pass
    else:
        rebuild(batch, records)
    try:
        for _ in iter_batches(view):
            pass
    except Refusal:
        pass


def rebuild(batch: bytearray, records: list[Record]) -> None:
    """What was read must survive a compaction that keeps everything."""
    raw = [raw for *_, raw in iter_keys(batch, decompressed_bytes_max=BYTES_MAX)]
    for horizon in (None, 1_000):
        rebuilt = rebuild_batch(read_header(batch), raw, delete_horizon_ms=horizon)
        assert list(iter_records(rebuilt, decompressed_bytes_max=2 * BYTES_MAX)) == records


def fuzz(data: bytes) -> None:
    choices = atheris.FuzzedDataProvider(data)
    if choices.ConsumeBool():
        open_in_every_way(hostile_batch(choices))
        return
    codec = choices.PickValueInList(list(CODECS))
    try:
        content = decompress(codec, choices.ConsumeBytes(BYTES_MAX), bytes_max=BYTES_MAX)
    except Refusal:
        return
    assert len(content) <= BYTES_MAX


if __name__ == "__main__":
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
