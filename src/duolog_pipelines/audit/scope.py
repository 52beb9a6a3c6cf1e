"""Scope of an audit, as nodes tell it: queues and topics, with their bounds.

Nodes are asked while others use them. The logs are looked at before and after the queues are
counted, so that changes meanwhile explain a difference.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyspark.sql.types import StructType

from duolog.client.cluster import Cluster
from duolog.client.errors import ClientError, check
from duolog.client.offsets import Bounds
from duolog.client.operator import OperatorClient
from duolog.config.address import parse_address
from duolog.model.names import queue_state_topic
from duolog.wire.kafka.apis import ApiKey
from duolog_pipelines.audit.opening import WHOLE, JournalRecord, Opening, opening_of
from duolog_pipelines.errors import Missing, PipelineError
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.asking import Asking
from pyspark_duolog.columns import COLUMNS
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.options import SourceOptions, read_options
from pyspark_duolog.source.planning import Range, Seen
from pyspark_duolog.source.reading import RangeReader

_READ = ("offset", "timestamp", "key", "value")
_ANY_EPOCH = -1


class QueueSeen(NamedTuple):
    name: str
    topic: str
    """Topic whose records are the queue's messages."""
    counted: int
    """Messages, as the nodes count them."""

    @property
    def journal(self) -> str:
        return queue_state_topic(self.name)


class Scope(NamedTuple):
    queues: Sequence[QueueSeen]
    before: Seen
    """Topics and journals before the queues were counted."""
    after: Seen
    """Topics and journals after the count; the audit goes up to here."""

    def partitions(self, queue: QueueSeen) -> Iterator[tuple[int, Bounds, Bounds | None]]:
        """Each partition with the bounds of its messages, and of its journal if there is one."""
        journal = self.after.get(queue.journal)
        journals = {} if journal is None else journal.partitions
        for partition, bounds in sorted(self.after[queue.topic].partitions.items()):
            yield partition, bounds, journals.get(partition)

    def arrived(self, queue: QueueSeen) -> int:
        """Messages that arrived between the two looks."""
        before = self.before[queue.topic].partitions
        return sum(
            bounds.end_offset - (before[each].end_offset if each in before else 0)
            for each, bounds in self.after[queue.topic].partitions.items()
        )


class Nodes:
    def __init__(self, bootstrap_servers: str, admin_address: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._admin = parse_address(admin_address)

    def see(self, topics: str | None, queues: Sequence[str] | None) -> Scope:
        """Look at the named topics and queues, or at all."""
        try:
            names = asyncio.run(self._names(queues))
            sources = {each.topic for each in asyncio.run(self._counted(names))}
            wanted = sorted(sources | {queue_state_topic(name) for name in names})
            before = {**self._topics(topics), **self._named(wanted)}
            counted = asyncio.run(self._counted(names))
            after = {**self._topics(topics), **self._named(wanted)}
        except ClientError as error:
            raise PipelineError(
                f"The queues could not be counted: {error}. Run it where a node runs, with --admin."
            ) from None
        there = [each for each in counted if each.topic in after and each.topic in before]
        return Scope(there, before, after)

    async def _names(self, wanted: Sequence[str] | None) -> list[str]:
        async with OperatorClient(self._admin) as client:
            there = [each.name for each in await client.queues()]
        if wanted is None:
            return there
        for name in wanted:
            if name not in there:
                raise Missing(f"There is no queue '{name}'. Run `duolog queue ls` to see them.")
        return list(wanted)

    async def _counted(self, names: Sequence[str]) -> list[QueueSeen]:
        async with OperatorClient(self._admin) as client:
            told = [await client.queue(name) for name in names]
        return [QueueSeen(each.name, each.topic, each.counts.total) for each in told]

    def _topics(self, wanted: str | None) -> Seen:
        """Topics named in `wanted`, separated by commas, or all that are not internal."""
        given = {"subscribePattern": ".*"} if wanted is None else {"subscribe": wanted}
        return Brokers(self._options(**given)).see()

    def _named(self, names: Sequence[str]) -> Seen:
        if not names:
            return {}
        return Brokers(self._options(subscribe=",".join(names))).see()

    def _options(self, **given: str) -> SourceOptions:
        return read_options({"kafka.bootstrap.servers": self._bootstrap_servers, **given})

    def opening(self, scope: Scope, queue: QueueSeen, partition: int) -> Opening:
        """The partition's opening balance. PipelineError if the journal was cut and has no readable
        snapshot."""
        state = scope.after.get(queue.journal)
        bounds = None if state is None else state.partitions.get(partition)
        if state is None or bounds is None or bounds.start_offset == 0:
            return WHOLE
        wanted = Range(queue.journal, state.id, partition, *bounds)
        try:
            found = opening_of(self._records(wanted))
        except ValueError as error:
            raise _no_opening(queue, partition, str(error)) from None
        if found is None:
            raise _no_opening(queue, partition, "it has no snapshot")
        return found

    def _records(self, wanted: Range) -> Iterator[JournalRecord]:
        columns = StructType()
        for name in _READ:
            columns.add(name, COLUMNS[name])
        options = self._options(subscribe=wanted.topic)
        for batch in RangeReader(options, wanted, arrow_schema(columns)).read():
            for row in batch.to_pylist():
                time_ms = int(row["timestamp"].timestamp() * 1000)
                yield JournalRecord(row["offset"], time_ms, row["key"], row["value"] or b"")

    def meant_offset(self, topic: str, partition: int, epoch: int) -> int:
        """End offset of the leader epoch: below it, offsets in that leader's journal still mean the
        same messages."""

        async def ask(cluster: Cluster) -> int:
            asked = {
                "partition": partition,
                "current_leader_epoch": _ANY_EPOCH,
                "leader_epoch": epoch,
            }
            fields = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [asked]}]}
            leader = await cluster.leader(topic, partition)
            response = await cluster.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, fields, node=leader)
            ((answered,),) = (each.partitions for each in response.topics)
            check(answered.error_code, f"partition {partition} of topic '{topic}'")
            return int(answered.end_offset)

        options = self._options(subscribe=topic)
        return Asking(options.bootstrap_servers, options.broker_timeout_ms).ask(ask)


def _no_opening(queue: QueueSeen, partition: int, reason: str) -> PipelineError:
    return PipelineError(
        f"Partition {partition} of the queue '{queue.name}' cannot be audited: its journal does"
        f" not begin at the start, and {reason}. Leave it out with the option queues."
    )
