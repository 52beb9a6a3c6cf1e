"""Checkpoint of a streaming query, as Spark writes it: its id, and the offsets of each batch."""

import json
from pathlib import Path
from typing import NamedTuple

from duolog_pipelines.errors import PipelineError
from pyspark_duolog.source.offsets import Offsets, offsets_from_json


class Gap(NamedTuple):
    """Offsets that the query never read, because they were removed before it reached them."""

    topic: str
    topic_id: str
    partition: int
    first_offset: int
    next_offset: int


class Checkpoint:
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def exists(self) -> bool:
        return (self._path / "metadata").exists()

    @property
    def query_id(self) -> str:
        """Id of the query, the same after every restart."""
        return str(json.loads((self._path / "metadata").read_text())["id"])

    def offsets(self, batch: int) -> Offsets:
        """Offsets at which the batch ends, with the ids of its topics; none before the first."""
        file = self._path / "offsets" / str(batch)
        if batch < 0 or not file.exists():
            return {}
        version, _, *sources = file.read_text().splitlines()
        if version != "v1" or len(sources) != 1:
            raise PipelineError(f"{file} is not in the format of this Spark version.")
        return offsets_from_json(json.loads(sources[0]))

    def last_offsets(self) -> Offsets:
        """Offsets of the newest planned batch."""
        planned = [int(each.name) for each in (self._path / "offsets").glob("*") if _is_batch(each)]
        return self.offsets(max(planned, default=-1))


def _is_batch(file: Path) -> bool:
    return file.name.isdigit()


def gaps(before: Offsets, after: Offsets) -> list[Gap]:
    """Offsets between the end of one batch and the beginning of the next."""
    found = []
    for name, topic in after.items():
        known = before.get(name)
        if known is None or known.id != topic.id:
            continue
        for partition, began in topic.began.items():
            ended = known.next.get(partition)
            if ended is not None and ended < began:
                found.append(Gap(name, topic.id, partition, ended, began))
    return found
