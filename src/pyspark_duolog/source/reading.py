"""A task's work: reads one range of offsets, through fail-overs and restarts of brokers."""

import time
from collections.abc import Iterable, Iterator
from uuid import UUID

import pyarrow as pa

from duolog.client.cluster import is_passing
from duolog.client.errors import ClientError, Garbled, Refused, Unreachable
from duolog.model.errors import Refusal
from pyspark_duolog.arrow_rows import Place, decoded_columns
from pyspark_duolog.asking import CLIENT_ID, RETRY_PAUSE_SECONDS
from pyspark_duolog.errors import BrokerAway, ConnectorError, Damaged, DataLost, place
from pyspark_duolog.source.arriving import Arriving
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.fetch_connection import Answer, FetchConnection
from pyspark_duolog.source.options import SourceOptions
from pyspark_duolog.source.planning import Range
from pyspark_duolog.source.segments import partition_directory, sealed_chunks

_GONE = frozenset(("UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION"))
"""Errors of a deleted topic; transient, too, as a new leader may not know the topic yet."""
_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


class RangeReader:
    """Reads one range; resumes where it was when a broker returns or another one leads."""

    def __init__(self, options: SourceOptions, wanted: Range, schema: pa.Schema) -> None:
        self._options = options
        self._wanted = wanted
        self._columns = decoded_columns(schema)
        self._completed_by = Place(schema, wanted.topic, wanted.partition)
        self._at = wanted.first_offset
        self._connection: FetchConnection | None = None
        self._is_asked = False
        self._arriving: Arriving | None = None
        """Records of the response received last."""
        self._patient_until = 0.0

    def read(self) -> Iterator[pa.RecordBatch]:
        yield from self._sealed()
        self._be_patient()
        try:
            while self._at < self._wanted.end_offset:
                try:
                    answer = self._answer()
                except Garbled as error:
                    raise Damaged(f"{self._place()}: {error}") from None
                except ClientError as failure:
                    self._pause(failure)
                    continue
                if answer is None:
                    continue
                if answer.error is None:
                    yield from self._taken(answer)
                else:
                    self._refused(answer)
        finally:
            self._disconnect()

    def _sealed(self) -> Iterator[pa.RecordBatch]:
        """Rows from sealed segments, read without a broker, as far as the leader has the same
        log."""
        wanted = self._wanted
        directory = partition_directory(self._options.data_directory, wanted)
        if directory is None:
            return
        epoch_ends: dict[int, int] = {}
        bytes_max = self._options.fetch_bytes_max
        for chunk in sealed_chunks(directory, wanted, self._columns, bytes_max):
            epoch = chunk.last_epoch
            if epoch not in epoch_ends:
                epoch_ends[epoch] = Brokers(self._options).epoch_end(wanted, epoch)
            # Two logs that agree on the epoch of an offset agree on everything before it. The log
            # of a node that was cut off may end with records that no other node has.
            if chunk.next_offset > epoch_ends[epoch]:
                return
            yield from self._completed(chunk.rows, self._at)
            self._at = chunk.next_offset

    def _answer(self) -> Answer | None:
        """The next response; None if nothing is left to read, because the topic is gone."""
        if self._connection is None:
            leader = Brokers(self._options).leader(self._wanted)
            if leader is None:
                self._lose(f"{self._place()} is gone: its topic was deleted, or recreated")
                self._at = self._wanted.end_offset
                return None
            self._connection = FetchConnection(leader, client_id=CLIENT_ID)
        if not self._is_asked:
            self._ask(self._connection)
        self._is_asked = False
        self._arriving = Arriving(self._columns, self._at, self._wanted.end_offset)
        return self._connection.receive(self._arriving.came)

    def _taken(self, answer: Answer) -> Iterator[pa.RecordBatch]:
        """Rows of a response that lie in the range. The next one is requested before this one is
        decoded."""
        first_offset, arriving = self._at, self._arriving
        assert arriving is not None
        try:
            found = arriving.found(answer.batches)
        except Refusal as problem:
            raise self._damaged(first_offset, problem) from None
        if found.next_offset == first_offset:
            if time.monotonic() > self._patient_until:
                raise BrokerAway(
                    f"{self._place()} should be there, but the broker has offsets up to "
                    f"{answer.high_watermark} only"
                )
            return
        self._at = found.next_offset
        self._be_patient()
        if self._at < self._wanted.end_offset and self._connection is not None:
            self._ask_ahead(self._connection)
        yield from self._completed(arriving.rows(answer.batches, found), first_offset)

    def _completed(
        self, rows: Iterable[pa.RecordBatch], first_offset: int
    ) -> Iterator[pa.RecordBatch]:
        try:
            for batch in rows:
                if batch.num_rows:
                    yield self._completed_by.complete(batch)
        except Refusal as problem:
            raise self._damaged(first_offset, problem) from None

    def _damaged(self, first_offset: int, problem: Refusal) -> Damaged:
        at = place(self._wanted.topic, self._wanted.partition, first_offset)
        return Damaged(f"{at}, or soon after, is damaged: {problem}")

    def _refused(self, answer: Answer) -> None:
        assert answer.error is not None
        if answer.error == _OUT_OF_RANGE:
            start_offset, end_offset = Brokers(self._options).bounds(self._wanted)
            if start_offset <= self._at <= end_offset:
                # Another broker leads now, and has the offset that this one lacks.
                self._pause(Refused(answer.error, self._place()))
                return
            self._lose(
                f"{self._place()} is not there: the partition has offsets "
                f"{start_offset} to {end_offset}"
            )
            self._at = start_offset if self._at < start_offset else self._wanted.end_offset
        elif answer.error in _GONE or is_passing(answer.error):
            self._pause(Refused(answer.error, self._place()))
        else:
            raise ConnectorError(f"{self._place()}: {answer.error}")

    def _lose(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLost(what)

    def _ask(self, connection: FetchConnection) -> None:
        topic_id = UUID(self._wanted.topic_id)
        bytes_max = self._options.fetch_bytes_max
        connection.send(topic_id, self._wanted.partition, self._at, bytes_max)
        self._is_asked = True

    def _ask_ahead(self, connection: FetchConnection) -> None:
        try:
            self._ask(connection)
        except Unreachable:
            # The response that has arrived is still good; the next turn reconnects.
            self._disconnect()

    def _be_patient(self) -> None:
        self._patient_until = time.monotonic() + self._options.broker_timeout_ms / 1000

    def _pause(self, failure: ClientError) -> None:
        self._disconnect()
        if time.monotonic() > self._patient_until:
            raise BrokerAway(f"{self._place()} cannot be read: {failure}")
        time.sleep(RETRY_PAUSE_SECONDS)

    def _disconnect(self) -> None:
        self._is_asked = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _place(self) -> str:
        return place(self._wanted.topic, self._wanted.partition, self._at)
