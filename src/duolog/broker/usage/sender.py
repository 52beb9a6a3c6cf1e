"""Sends closed intervals to the topic of usage lines: in order, one at a time, each exactly once.

An idempotent producer whose id and sequences are in the journal: the partition's leader
recognises what is sent again, after a failure or by the next process.
"""

import asyncio

from duolog.broker.producer_ids import ProducerIds
from duolog.broker.usage.journal import NO_PARTITION, NO_PRODUCER, UsageJournal
from duolog.broker.usage.topic import UsageTopic
from duolog.core.usage.sheets import batch_of, sheets_of
from duolog.core.usage.slots import Interval
from duolog.model.errors import InvalidProducerEpoch, OutOfOrderSequence, Refusal
from duolog.observe.logs import get_logger
from duolog.ports.metastore import StoreUnavailable
from duolog.ports.peers import PeerUnreachable

RETRY_SECONDS = 1.0
ATTEMPT_SECONDS_MAX = 60.0

_ENVIRONMENT = (Refusal, PeerUnreachable, StoreUnavailable, OSError, TimeoutError)
"""Transient failures: sending is retried; only usage lines wait for it."""

log = get_logger("usage")


class UsageSender:
    def __init__(
        self,
        journal: UsageJournal,
        topic: UsageTopic,
        producer_ids: ProducerIds,
        *,
        node_id: int,
        interval_ms: int,
    ) -> None:
        self._journal = journal
        self._topic = topic
        self._producer_ids = producer_ids
        self._node_id = node_id
        self._interval_ms = interval_ms
        self._more = asyncio.Event()
        self._failing: str | None = None
        """Reason of the last failure, logged once."""

    def wake(self) -> None:
        """Wakes the sender: an interval was closed."""
        self._more.set()

    async def run(self) -> None:
        """Sends closed intervals until cancelled."""
        while True:
            while self._journal.waiting:
                if not await self.send_next():
                    await asyncio.sleep(RETRY_SECONDS)
            self._more.clear()
            await self._more.wait()

    async def finish(self, seconds_max: float) -> None:
        """Sends waiting intervals for a limited time; the next process sends the rest."""
        try:
            async with asyncio.timeout(seconds_max):
                while self._journal.waiting and await self.send_next():
                    pass
        except TimeoutError:
            log.warning("usage lines left for the next start", waiting=len(self._journal.waiting))

    async def send_next(self) -> bool:
        """Sends the oldest waiting interval; True if it is in the topic and noted as sent."""
        sequence = self._journal.waiting[0]
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS_MAX):
                interval = await self._journal.read(sequence, self._interval_ms)
                await self._send(interval)
                await self._journal.sent(interval)
        except _ENVIRONMENT as error:
            reason = str(error) or type(error).__name__
            if reason != self._failing:
                log.warning("usage lines have to wait", sequence=sequence, reason=reason)
            self._failing = reason
            return False
        self._failing = None
        return True

    async def _send(self, interval: Interval) -> None:
        if not interval.counts:
            return
        await self._introduce()
        remembered = self._journal.remembered
        sheets = sheets_of(interval, node=self._node_id, journal=remembered.journal)
        batch = batch_of(
            sheets,
            producer_id=remembered.producer_id,
            base_sequence=remembered.next_producer_sequence,
        )
        try:
            await self._topic.append(remembered.partition, batch)
        except (OutOfOrderSequence, InvalidProducerEpoch) as refusal:
            # The partition lacks acknowledged lines, or was created again. Readers see the gap;
            # later lines must reach them nevertheless, under a new producer id.
            log.error(
                "the usage topic has lost lines, continuing with a new producer id",
                error=str(refusal),
            )
            await self._journal.choose(remembered.partition, await self._producer_ids.next_id())
            raise

    async def _introduce(self) -> None:
        """Creates the topic and reserves a producer id, if they are missing."""
        remembered = self._journal.remembered
        own = await self._topic.partition_of(self._node_id)
        if remembered.partition == NO_PARTITION or remembered.producer_id == NO_PRODUCER:
            await self._journal.choose(own, await self._producer_ids.next_id())
