"""A topic with one known record per batch, and a hand on the files in which it lies."""

import os
from pathlib import Path

from tests.harness.node import Node
from tests.harness.wire import Wire, batch_of

from duolog.records.header import HEADER_BYTES, LENGTH_AT
from duolog.records.iterator import iter_batches, iter_records

RECORD_BYTES = 1_000
DECOMPRESSED_BYTES_MAX = 1 << 24
TOPIC = "stored"


def value_of(offset: int) -> bytes:
    return (b"record %d " % offset).ljust(RECORD_BYTES, b".")


def store(node: Node, count: int, *, first: int = 0, topic: str = TOPIC) -> None:
    """Append records `first` to `first + count`, each in a batch of its own."""
    with Wire(node.kafka) as wire:
        for offset in range(first, first + count):
            code, base_offset = wire.produce(topic, 0, batch_of([value_of(offset)]))
            assert (code, base_offset) == (0, offset)


def create(node: Node, topic: str = TOPIC, **config: object) -> None:
    dotted = {name.replace("_", "."): value for name, value in config.items()}
    with Wire(node.kafka) as wire:
        assert wire.create_topic(topic, configs=dotted) == 0


def read_from(node: Node, offset: int, *, topic: str = TOPIC) -> tuple[int, list[int]]:
    """Read to the end, or to the first error: its code, and the offsets that came with the
    right value."""
    found: list[int] = []
    with Wire(node.kafka) as wire:
        while True:
            code, data = wire.fetch(topic, 0, offset)
            for _, batch in iter_batches(data):
                for record in iter_records(batch, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX):
                    assert record.offset is not None
                    if record.offset >= offset:
                        assert record.value == value_of(record.offset)
                        found.append(record.offset)
                        offset = record.offset + 1
            if code or not data:
                return code, found


def batch_positions(file: Path) -> dict[int, int]:
    """Where each batch of a segment begins, by its base offset."""
    positions: dict[int, int] = {}
    at = 0
    for header, _ in iter_batches(file.read_bytes()):
        positions[header.base_offset] = at
        at += header.size
    return positions


IN_RECORDS = HEADER_BYTES + RECORD_BYTES // 2
IN_LENGTH = LENGTH_AT + 2


def flip_bit(file: Path, batch_at: int, within: int = IN_RECORDS) -> None:
    """Damage the batch that begins there."""
    position = batch_at + within
    descriptor = os.open(file, os.O_RDWR)
    try:
        (byte,) = os.pread(descriptor, 1, position)
        os.pwrite(descriptor, bytes([byte ^ 0x10]), position)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
