"""A node's metering: wires its parts, starts and stops them."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.usage.journal import UsageJournal, open_journal
from duolog.broker.usage.meter import Meter
from duolog.broker.usage.sender import UsageSender
from duolog.broker.usage.stored import StoredUsage
from duolog.broker.usage.topic import UsageTopic
from duolog.broker.usage.uncounted import count_uncounted
from duolog.core.usage.totals import Totals
from duolog.ports.counters import CounterFile, CounterFiles
from duolog.ports.peers import Peers

STOP_SECONDS_MAX = 2.0


class UsageTold(NamedTuple):
    """A node's report about its own metering."""

    journal: str
    sent_sequence: int
    totals: Totals
    """Totals of all usage lines up to that sequence."""


class Metering:
    """A node's metering; opened before the partitions, to count them from the first request."""

    def __init__(
        self,
        broker: Broker,
        files: CounterFiles,
        *,
        tenant: str,
        interval_ms: int,
        new_journal: str,
    ) -> None:
        """Opens the journal and the meter; raises OSError."""
        self._broker = broker
        self._interval_ms = interval_ms
        self._journal: UsageJournal = open_journal(files, broker.disk, new_journal)
        self._sender: UsageSender | None = None
        self._stored: StoredUsage | None = None
        self.tasks: list[asyncio.Task[Any]] = []
        self.meter = Meter(
            tenant,
            files,
            broker.disk,
            broker.clock,
            interval_ms=interval_ms,
            sequence=self._journal.next_sequence,
            may_cut=lambda: self._journal.may_cut,
            on_closed=self._closed,
        )
        broker.meter = self.meter
        broker.leadership.append(self)

    def leading(self, partition: Partition) -> None:
        """LeadershipListener: detaches the tally, whose mark belongs to an earlier epoch."""
        partition.produced.detach()

    def left(self, partition: Partition) -> None:
        partition.produced.detach()

    def _closed(self, sequence: int, file: CounterFile) -> None:
        self._journal.closed(sequence, file)
        if self._sender is not None:
            self._sender.wake()

    def start(
        self, topic: UsageTopic, is_queue: Callable[[str], bool], *, is_only_node: bool
    ) -> None:
        """Starts counting and sending; called when all is open, before the first request."""
        broker, journal = self._broker, self._journal
        count_uncounted(broker, journal.marks)
        # On a sole node, nobody else has counted what was stored while it was down.
        now_ms = broker.clock.now_ms()
        since_ms = min(journal.stored_ms or now_ms, now_ms) if is_only_node else now_ms
        self._stored = StoredUsage(broker, self.meter, is_queue, since_ms)
        self._sender = UsageSender(
            journal,
            topic,
            broker.producer_ids,
            node_id=broker.node_id,
            interval_ms=self._interval_ms,
        )
        self.tasks = [
            asyncio.ensure_future(self.meter.run()),
            asyncio.ensure_future(self._stored.run()),
            asyncio.ensure_future(self._sender.run()),
        ]

    async def stop(self) -> None:
        """Ends the last interval and sends what can be sent soon; repeated calls do nothing.
        Called after the clients have gone, while other nodes can still be reached."""
        tasks, self.tasks = self.tasks, []
        if not tasks:
            return
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._stored is None or self._sender is None or self._broker.has_failed:
            return
        self._stored.count(self._broker.clock.now_ms())
        await self.meter.finish()
        await self._sender.finish(STOP_SECONDS_MAX)

    def told(self) -> UsageTold:
        journal = self._journal
        return UsageTold(journal.remembered.journal, journal.sent_sequence, journal.totals)


def usage_topic(broker: Broker, peers: Peers | None) -> UsageTopic:
    partitions = broker.settings.integer("usage.topic.num.partitions")
    return UsageTopic(broker, peers, partitions)
