"""Delivery state of one partition of a queue: which messages are ready, hidden or done.

Driven by broker/queues. Messages come in by `enqueue`; the durable state changes only by `apply`,
with changes that were written to the queue's journal; time passes only as the machine is told.
Messages below `end_offset` that neither wait, nor are delayed or held, are done.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from heapq import merge, nsmallest
from itertools import chain, islice, starmap

from duolog.core.queues.fair import FairGroups
from duolog.core.queues.fifo import FifoGroups
from duolog.core.queues.held import ROWS_PER_STEP, Held, loading_held, save_held
from duolog.core.queues.rules import DeliveryRules
from duolog.core.queues.sent_times import SentTimes
from duolog.core.queues.transitions import Transitions
from duolog.core.queues.ungrouped import Ungrouped
from duolog.records.delivery_image import Image, decode_image, encode_image

TRIMMED_MAX = 10_000
"""Offsets that one Trimmed removes, unless the messages are ranges."""


class Delivery(Transitions):
    """Delivery state of one partition of a queue."""

    __slots__ = ("_sent",)

    def __init__(self, rules: DeliveryRules, end_offset: int = 0) -> None:
        super().__init__(rules, end_offset)
        self._sent = SentTimes()

    def enqueue_range(
        self, first_offset: int, next_offset: int, sent_ms: int, due_ms: int = 0
    ) -> None:
        """Adds messages without a group; known offsets are skipped.

        `sent_ms` is the partition's time, not a producer's claim: retention depends on it.
        """
        if first_offset < self.end_offset:
            first_offset = self.end_offset
        if first_offset >= next_offset:
            return
        self.end_offset = next_offset
        second = sent_ms // 1000
        if second > self._sent.last_second:
            self._sent.note(first_offset, second)
        if due_ms <= self._now_ms:
            self._waiting.add_range(first_offset, next_offset)
            self.ready_count += next_offset - first_offset
        else:
            self._delayed.append(first_offset, next_offset, due_ms)
            for offset in range(first_offset, next_offset) if self._rules.fifo else ():
                self._waiting.add_delayed(offset, None)

    def enqueue(self, offset: int, sent_ms: int, *, group: bytes | None, due_ms: int = 0) -> None:
        """Adds one message, hidden until `due_ms`; a known offset is skipped."""
        if offset < self.end_offset:
            return
        self.end_offset = offset + 1
        second = sent_ms // 1000
        if second > self._sent.last_second:
            self._sent.note(offset, second)
        if group is not None:
            self._expect_groups()
        if due_ms <= self._now_ms:
            self._waiting.add(offset, group, sent_ms)
            self.ready_count += 1
        else:
            self._delayed.append(offset, offset + 1, due_ms)
            self._waiting.add_delayed(offset, group)

    def skip_to(self, end_offset: int) -> None:
        """Skips offsets that hold no message: the log lost them, or they cannot be read."""
        self.end_offset = max(self.end_offset, end_offset)

    def choose(self, count: int, now_ms: int) -> Sequence[int]:
        """The messages that a receive would get now.

        The same ones are chosen again until a Delivered with them is applied. Nothing is chosen
        past the limit of messages in flight.
        """
        self._pass_time(now_ms)
        room = self._rules.in_flight_max - self.in_flight_count
        if room < count:
            count = room
        if count <= 0 or not self.ready_count:
            return ()
        return self._waiting.choose(count, now_ms)

    def find_attempt(self, attempt: bytes, now_ms: int) -> tuple[int, ...] | None:
        """The messages that this receive attempt got, while all are in flight under that
        delivery."""
        self._pass_time(now_ms)
        return self._attempts.find(attempt, now_ms)

    def tick(self, now_ms: int) -> bool:
        """Passes time. True if messages became ready, or dead, since the last tick."""
        self._pass_time(now_ms)
        has_news, self._has_news = self._has_news, False
        return has_news

    @property
    def soonest_ms(self) -> int:
        """Time before which `tick` has nothing to do; cheaper than `next_deadline_ms`, less
        exact."""
        return min(self._deadlines.soonest_ms, self._delayed.soonest_ms)

    def next_deadline_ms(self) -> int | None:
        """Time at which `tick` next has something to do; None if never."""
        deadline_ms, due_ms = self._deadlines.next_ms(), self._delayed.next_ms()
        if deadline_ms is None or (due_ms is not None and due_ms < deadline_ms):
            return due_ms
        return deadline_ms

    @property
    def is_empty(self) -> bool:
        return not self.undone_count

    @property
    def undone_count(self) -> int:
        return self.ready_count + self.in_flight_count + self._delayed.count

    @property
    def has_groups(self) -> bool:
        """True if what one receive gets depends on what others have in flight."""
        return type(self._waiting) is not Ungrouped

    @property
    def held_count(self) -> int:
        """Number of messages that were received and are not done."""
        return len(self._held)

    @property
    def has_dead(self) -> bool:
        return bool(self._dead)

    def dead(self) -> tuple[int, ...]:
        """Messages that were received too often, ascending.

        They stay dead until they are deleted (once moved to the dead-letter queue), or more
        receives are allowed.
        """
        return tuple(sorted(self._dead))

    def revive(self) -> None:
        """Makes all dead messages ready again, because there is no dead-letter queue to move them
        to."""
        for offset in sorted(self._dead):
            self._restore(offset, self._held[offset])

    def held(self, offset: int) -> Held | None:
        """State of a message that was received and is not done; None for others."""
        return self._held.get(offset)

    def held_each(self, offsets: Iterable[int]) -> list[Held | None]:
        return list(map(self._held.get, offsets))

    def first_received_ms(self, offsets: Iterable[int]) -> int | None:
        """Time at which all of these were received together, each for the first time; else None."""
        deliveries = {
            (each.received_ms, each.receive_count) if each is not None else None
            for each in set(self.held_each(offsets))
        }
        delivery = deliveries.pop()
        return None if deliveries or delivery is None or delivery[1] != 1 else delivery[0]

    def has_group(self, group: bytes) -> bool:
        """True if a FIFO queue has messages of the group that are not done."""
        assert isinstance(self._waiting, FifoGroups)
        return self._waiting.has(group)

    def state_of(self, offset: int, now_ms: int) -> str:
        self._pass_time(now_ms)
        if offset >= self.end_offset:
            return "unknown"
        held = self._held.get(offset)
        if held is not None:
            return "in_flight" if held.is_in_flight else "dead" if held.is_dead else "ready"
        if self._waiting.is_fresh(offset):
            return "ready"
        return "delayed" if offset in self._delayed else "done"

    def undone(self, from_offset: int, limit: int) -> list[int]:
        """The lowest offsets that are not done, ascending."""
        sources = (
            nsmallest(limit, (offset for offset in self._held if offset >= from_offset)),
            _offsets(self._waiting.fresh_pieces(from_offset)),
            _offsets(self._delayed.ranges.pieces(from_offset)),
        )
        return list(islice(merge(*sources), limit))

    def low_offset(self) -> int:
        """The lowest offset that is not done; the end if there is none."""
        lowest = (
            min(self._held, default=None),
            self._waiting.first_fresh(),
            self._delayed.ranges.first,
        )
        return min((offset for offset in lowest if offset is not None), default=self.end_offset)

    def oldest_sent_ms(self) -> int | None:
        """Time of sending of the oldest message that is not done, to the second."""
        low_offset = self.low_offset()
        return self._sent.sent_ms(low_offset) if low_offset < self.end_offset else None

    def expired_before(self, now_ms: int) -> int:
        """Offset below which every message is past retention; some above it may be, too."""
        cutoff_ms = now_ms - self._rules.retention_ms
        expired = self._sent.expired_before(cutoff_ms, self.end_offset)
        # Replayed messages count as sent at the replay, or retention would remove them again at
        # once.
        replayed = (first for first, replayed_ms in self._replays if replayed_ms > cutoff_ms)
        return min(expired, min(replayed, default=expired))

    def trimmable_to(self, before_offset: int) -> int:
        """The offset, or a lower one: up to there, one Trimmed makes no long turn."""
        if not self.has_groups and len(self._held) + self._delayed.count <= TRIMMED_MAX:
            # All others are ranges.
            return before_offset
        return min(before_offset, self.low_offset() + TRIMMED_MAX)

    def offset_at(self, timestamp_ms: int) -> int:
        """The first known offset sent at or after a time, to the second."""
        return self._sent.offset_at(timestamp_ms, self.end_offset)

    def forget_sent_before(self, offset: int) -> None:
        """Forgets times of sending below the log's new start offset."""
        self._sent.forget_before(min(offset, self.low_offset()))

    def truncate(self, end_offset: int) -> None:
        """Forgets messages past the log's end, which turned out to be lower: they were never
        sent."""
        if end_offset >= self.end_offset:
            return
        self._finish([offset for offset in self._held if offset >= end_offset])
        self._delayed.truncate(end_offset)
        self.ready_count -= self._waiting.truncate(end_offset)
        self._sent.truncate(end_offset)
        self.end_offset = end_offset

    def snapshot(self) -> bytes:
        image = Image(self._rules.fifo, self.end_offset, self._now_ms)
        save_held(image, self._held)
        self._waiting.save(image)
        self._attempts.save(image)
        self._sent.save(image)
        self._delayed.save(image)
        image.replays = self._replays
        return encode_image(image)

    @classmethod
    def from_snapshot(
        cls, data: bytes, rules: DeliveryRules, now_ms: int | None = None
    ) -> "Delivery":
        """Restores a snapshot at once; see `loading`."""
        steps = cls.loading(data, rules, now_ms)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                restored: Delivery = end.value
                return restored

    @classmethod
    def loading(
        cls, data: bytes, rules: DeliveryRules, now_ms: int | None = None
    ) -> Generator[None, None, "Delivery"]:
        """Restores a snapshot, step by step; raises ValueError if it is damaged or of the other
        kind of queue.

        The clock of the node that made it may be ahead of ours: its time is capped at `now_ms`, so
        that nothing counts as over before it is.
        """
        image = decode_image(data)
        if now_ms is not None and image.now_ms > now_ms:
            image.now_ms = now_ms
        if image.fifo != rules.fifo:
            raise ValueError("a snapshot of the other kind of queue")
        delivery = cls(rules, image.end_offset)
        try:
            yield from delivery._loading(image)
        except (KeyError, IndexError) as error:
            raise ValueError(f"a snapshot that contradicts itself: {error}") from error
        return delivery

    def _loading(self, image: Image) -> Generator[None, None, None]:
        self._now_ms = image.now_ms
        yield from loading_held(image, self._held)
        self._delayed.load(image)
        for number, (offset, held) in enumerate(self._held.items()):
            if number % ROWS_PER_STEP == 0:
                yield
            if held.is_in_flight:
                self.in_flight_count += 1
                self._deadlines.add(held.deadline_ms, [offset])
            elif held.is_dead:
                self._dead.add(offset)
        yield
        self._waiting.load(image, self._held)
        if image.has_groups:
            assert isinstance(self._waiting, Ungrouped)
            self._waiting = FairGroups(self._waiting, self.in_flight_count)
            self._waiting.load(image, self._held)
        self.in_flight_count += len(self._dead)
        fresh = self._waiting.fresh_pieces(0)
        self.ready_count = len(self._held) - self.in_flight_count
        self.ready_count += sum(next_offset - first for first, next_offset in fresh)
        self._attempts.load(image, self._held)
        self._sent.load(image)
        self._replays = image.replays
        self._examine()


def _offsets(pieces: Iterable[tuple[int, int]]) -> Iterator[int]:
    return chain.from_iterable(starmap(range, pieces))
