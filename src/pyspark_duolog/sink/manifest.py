"""Manifest of one micro-batch: everything that the driver sends, fixed before the first byte
leaves.

A manifest is named by query and batch, and created atomically. A driver that restarts after a
crash, or a second one with the same checkpoint, finds it and sends that, not what its own tasks
have staged. It names the producer, and each partition's end offset before the write: from there on
the log itself shows what has been written.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pyspark_duolog.sink.staging import Staged, StagedBatch

VERSION = 1


class Target(NamedTuple):
    """Batches to send to one partition, in order."""

    topic: str
    topic_id: str
    partition: int
    end_offset: int
    """The partition's end offset before the write."""
    batches: list[tuple[str, int, int, int]]
    """File, position, size and record count of each batch."""


class Manifest(NamedTuple):
    producer_id: int
    producer_epoch: int
    targets: list[Target]

    @property
    def files(self) -> set[str]:
        return {file for target in self.targets for file, *_ in target.batches}


def batches_by_target(
    staged: Iterable[Staged],
) -> dict[tuple[str, int], list[tuple[str, int, int, int]]]:
    found: dict[tuple[str, int], list[tuple[str, int, int, int]]] = {}
    for each in staged:
        if each.file is None:
            continue
        for batch in map(StagedBatch._make, each.batches):
            key = (batch.topic, batch.partition)
            entry = (each.file, batch.position, batch.size, batch.record_count)
            found.setdefault(key, []).append(entry)
    return found


class ManifestStore:
    """The manifests of one streaming query, or of one batch write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def is_done(self, batch_id: int) -> bool:
        return self._done(batch_id).exists()

    def load(self, batch_id: int) -> Manifest | None:
        try:
            value = json.loads(self._path(batch_id).read_text())
        except FileNotFoundError:
            return None
        assert value["version"] == VERSION
        targets = [
            Target(topic, topic_id, partition, end_offset, [tuple(each) for each in batches])
            for topic, topic_id, partition, end_offset, batches in value["targets"]
        ]
        producer_id, producer_epoch = value["producer"]
        return Manifest(producer_id, producer_epoch, targets)

    def create(self, batch_id: int, manifest: Manifest) -> Manifest:
        """Store this manifest and return it, or the one that another driver stored first."""
        value = {
            "version": VERSION,
            "producer": [manifest.producer_id, manifest.producer_epoch],
            "targets": manifest.targets,
        }
        temporary = self.directory / f"{batch_id}.{os.getpid()}.tmp"
        with temporary.open("w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, self._path(batch_id))
        except FileExistsError:
            existing = self.load(batch_id)
            assert existing is not None
            return existing
        finally:
            temporary.unlink()
        self._sync()
        return manifest

    def finish(self, batch_id: int) -> None:
        """Mark the batch as done once everything is written, and remove its staged files."""
        self._path(batch_id).rename(self._done(batch_id))
        self._sync()
        # Also removes files of a crashed driver: batches of a query are consecutive, so no other
        # batch is staged when one is done.
        for path in self.directory.glob("*.batches"):
            path.unlink(missing_ok=True)
        for path in self.directory.glob("*.done"):
            # Spark never repeats more than the last batch.
            if int(path.stem) < batch_id - 1:
                path.unlink(missing_ok=True)

    def _path(self, batch_id: int) -> Path:
        return self.directory / f"{batch_id}.json"

    def _done(self, batch_id: int) -> Path:
        return self.directory / f"{batch_id}.done"

    def _sync(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
