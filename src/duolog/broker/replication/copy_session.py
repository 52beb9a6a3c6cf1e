"""A follower node's fetch session: the partitions that it copies from here, and their news.

The session listens to each of its partitions, so that a request costs in proportion to what has
changed, not to what is followed.
"""

import asyncio

from duolog.broker.partition import Partition
from duolog.broker.replica import Replica
from duolog.wire.peer.copying import CopyWanted

NEWS_WAIT_S = 0.02
"""Time for which news of a high watermark may wait for records to travel with."""

PlaceKey = tuple[bytes, int]
"""A topic's id and a partition's index."""


class Place:
    """One partition in one fetch session."""

    __slots__ = (
        "_session",
        "is_answered",
        "is_noted",
        "partition",
        "told_start_offset",
        "told_watermark",
        "wanted",
    )

    def __init__(self, session: "CopySession", partition: Partition | None, wanted: CopyWanted):
        self._session = session
        self.partition = partition
        self.wanted = wanted
        self.told_watermark = -1
        self.told_start_offset = -1
        self.is_answered = False
        """True if the follower was sent something and has not named the partition again since."""
        self.is_noted = False
        """True once the leader has taken the named offset as the follower's progress."""
        if partition is not None:
            partition.add_copying(self)

    def end_advanced(self, replica: Replica) -> None:
        if not self.is_answered:
            self._session.stirred[self] = None
            self._session.wake()

    def watermark_advanced(self, replica: Replica) -> None:
        if not self.is_answered:
            self._session.stirred[self] = None
            self._session.wake_soon()

    def leave(self) -> None:
        if self.partition is not None:
            self.partition.remove_copying(self)


class CopySession:
    def __init__(self, node: int, broker_epoch: int, number: int) -> None:
        self.node = node
        self.broker_epoch = broker_epoch
        self.number = number
        self.sequence = 0
        self.places: dict[PlaceKey, Place] = {}
        self.stirred: dict[Place, None] = {}
        """Places that may have news for the follower."""
        self.news_from: float | None = None
        """Loop time of the oldest unsent news; None without any."""
        self._parked: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_parked(self) -> bool:
        """True while a request waits for news (long poll)."""
        return self._parked is not None

    def name(self, wanted: CopyWanted, partition: Partition | None) -> Place:
        """Takes the follower's position in a partition."""
        key = wanted.topic_id, wanted.index
        place = self.places.get(key)
        if place is None or place.partition is not partition:
            self.forget(key)
            place = self.places[key] = Place(self, partition, wanted)
        else:
            place.wanted = wanted
            place.is_answered = place.is_noted = False
        self.stirred[place] = None
        return place

    def forget(self, key: PlaceKey) -> None:
        place = self.places.pop(key, None)
        if place is not None:
            place.leave()
            self.stirred.pop(place, None)

    def stir_moved_starts(self) -> None:
        """Stirs partitions whose log start has moved since the follower was told."""
        for place in self.places.values():
            partition = place.partition
            if partition is not None and partition.log.start_offset != place.told_start_offset:
                place.watermark_advanced(partition)

    def wake(self) -> None:
        if self._parked is not None and not self._parked.done():
            self._parked.set_result(None)

    def wake_soon(self) -> None:
        """Wakes the session NEWS_WAIT_S after the first news that brings no records."""
        if self.news_from is None:
            loop = asyncio.get_running_loop()
            self.news_from = loop.time()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = loop.call_later(NEWS_WAIT_S, self.wake)

    async def park(self, until: float) -> None:
        """Parks the request (long poll) until there is news, or until the given loop time."""
        loop = asyncio.get_running_loop()
        parked = self._parked = loop.create_future()
        self._timer = loop.call_at(until, self.wake)
        try:
            await parked
        finally:
            self._timer.cancel()
            self._timer = self._parked = None

    def close(self) -> None:
        for place in self.places.values():
            place.leave()
        self.places.clear()
        self.stirred.clear()
        self.wake()
