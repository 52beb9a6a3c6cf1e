"""Writes archived records to a topic, each once, however often the replay is repeated.

The sink's write is named by the replay's id, so a repeated replay finds what the first one did:
that it is done, or what it was about to send.
"""

import json
from typing import NamedTuple

from pyspark.sql import DataFrame

from duolog_pipelines.errors import InvalidInput
from duolog_pipelines.state import replace_file
from pyspark_duolog.sink.delivery import deliver
from pyspark_duolog.sink.manifest import ManifestStore
from pyspark_duolog.sink.options import read_sink_options
from pyspark_duolog.sink.staging import Staged
from pyspark_duolog.sink.writers import ONLY_BATCH

_REQUEST = "request.json"


class Request(NamedTuple):
    """Parameters of a replay, bound to its id for good."""

    topic: str
    to: str
    range: str
    topic_id: str | None


class Replaying:
    def __init__(self, replay_id: str, sink: dict[str, str]) -> None:
        """`sink`: options of the connector's sink."""
        self._id = replay_id
        self._given = {**sink, "writeId": replay_id}
        self.options = read_sink_options(self._given)
        self._directory = self.options.staging_directory / replay_id
        self._store = ManifestStore(self._directory)

    def begin(self, request: Request) -> None:
        """Bind the id to the request. InvalidInput if it was used for another one."""
        file = self._directory / _REQUEST
        if file.exists():
            known = Request(**json.loads(file.read_text()))
            if known != request:
                raise InvalidInput(
                    f"The replay '{self._id}' is one of {known.range} of '{known.topic}' to"
                    f" '{known.to}'. Give another id."
                )
        else:
            replace_file(file, json.dumps(request._asdict()).encode())

    @property
    def is_done(self) -> bool:
        return self._store.is_done(ONLY_BATCH)

    @property
    def is_planned(self) -> bool:
        """True once the records to send are fixed, even if some are not sent yet."""
        return self._store.load(ONLY_BATCH) is not None

    def send(self, rows: DataFrame) -> None:
        """Send all rows. When this returns, each is in the log exactly once."""
        rows.write.format("duolog").mode("append").options(**self._given).save()

    def send_rest(self) -> None:
        """Send the rest of a planned replay."""
        deliver(self.options, ONLY_BATCH, [Staged(self._id, None, [])])

    def record_count(self) -> int:
        """Number of records sent, read from the mark that the finished replay left."""
        value = json.loads((self._directory / f"{ONLY_BATCH}.done").read_text())
        return sum(count for *_, batches in value["targets"] for *_, count in batches)
