"""States of a partition's messages, and the transitions between them.

A message waits (waiting.py) or is delayed, is then in flight, and in the end done. In between it
may return, or be dead: received too often, and due for the dead-letter queue.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import chain, repeat, takewhile
from typing import Any

from msgspec.structs import replace

from duolog.core.queues.attempts import Attempts
from duolog.core.queues.deadlines import Deadlines
from duolog.core.queues.delayed import Delayed
from duolog.core.queues.fair import FairGroups
from duolog.core.queues.fifo import FifoGroups
from duolog.core.queues.held import Held
from duolog.core.queues.ranges import as_run
from duolog.core.queues.rules import DeliveryRules
from duolog.core.queues.ungrouped import Ungrouped
from duolog.core.queues.waiting import Waiting
from duolog.records.changes import (
    Change,
    Deleted,
    Delivered,
    Replayed,
    Trimmed,
    VisibilityChanged,
)


class Transitions:
    """Durable part of the delivery state, and the one way in which it changes.

    The base of Delivery, which others use. Each change is total: it has the same effect whether or
    not the passing of time was noticed before it, so that recovery, which notices nothing in
    between, reaches the same state.
    """

    __slots__ = (
        "_attempts",
        "_dead",
        "_deadlines",
        "_delayed",
        "_has_news",
        "_held",
        "_now_ms",
        "_replays",
        "_rules",
        "_waiting",
        "end_offset",
        "in_flight_count",
        "ready_count",
    )

    def __init__(self, rules: DeliveryRules, end_offset: int) -> None:
        self._rules = rules
        self.end_offset = end_offset
        """First offset that the machine does not know yet."""
        self.ready_count = 0
        """Number of waiting messages; in a FIFO queue, those of locked groups included."""
        self.in_flight_count = 0
        """Number of messages in flight, dead ones included."""
        self._held: dict[int, Held] = {}
        self._deadlines = Deadlines(self._held)
        self._dead: set[int] = set()
        self._delayed = Delayed()
        self._waiting: Waiting = FifoGroups(self._delayed) if rules.fifo else Ungrouped()
        self._attempts = Attempts()
        self._replays: list[tuple[int, int]] = []
        """First offset and time of each replay that is not past retention again."""
        self._now_ms = 0
        """Latest time that the machine was told."""
        self._has_news = False
        """True if something became ready, or dead, since the last `tick`."""

    @property
    def delayed_count(self) -> int:
        return self._delayed.count

    @property
    def is_over_limit(self) -> bool:
        """True if the limit of messages in flight is reached, so that no more are delivered."""
        return self.in_flight_count >= self._rules.in_flight_max

    @property
    def rules(self) -> DeliveryRules:
        return self._rules

    @rules.setter
    def rules(self, rules: DeliveryRules) -> None:
        assert rules.fifo == self._rules.fifo, "a queue is FIFO or not for all its life"
        self._rules = rules
        self._examine()

    def apply(self, change: Change) -> None:
        """Applies a change; offsets that are unknown or done are skipped."""
        _APPLY[type(change)](self, change)

    def _pass_time(self, now_ms: int) -> None:
        if now_ms > self._now_ms:
            self._now_ms = now_ms
        if now_ms >= self._delayed.soonest_ms:
            self._mature(self._delayed.pop_due(now_ms))
        if now_ms >= self._deadlines.soonest_ms:
            for offset, held in self._deadlines.pop_due(now_ms):
                self._end_flight(offset, held)

    def _mature(self, due: list[tuple[int, int]]) -> None:
        """Makes delayed messages ready."""
        if due:
            self._waiting.mature(due, self._now_ms)
            self.ready_count += sum(next_offset - first for first, next_offset in due)
            self._has_news = True

    def _end_flight(self, offset: int, held: Held) -> None:
        """Makes a message in flight visible, or dead if it was received too often."""
        self._void_attempt(offset, held)
        self._has_news = True
        is_dead = self._is_exhausted(held)
        self._held[offset] = replace(held, attempt=b"", is_in_flight=False, is_dead=is_dead)
        if is_dead:
            self._dead.add(offset)
            self._waiting.settle(held, self._now_ms)
        else:
            self._waiting.give_back(offset, held, self._now_ms)
            self.in_flight_count -= 1
            self.ready_count += 1

    def _is_exhausted(self, held: Held) -> bool:
        receive_count_max = self._rules.receive_count_max
        return receive_count_max is not None and held.receive_count >= receive_count_max

    def _examine(self) -> None:
        """Separates dead from live messages again, after the rules may have changed."""
        for offset, held in self._held.items():
            if held.is_in_flight or held.is_dead == self._is_exhausted(held):
                continue
            if held.is_dead:
                self._restore(offset, held)
            else:
                self._waiting.discard_returned(offset, held)
                self.ready_count -= 1
                self.in_flight_count += 1
                self._held[offset] = replace(held, is_dead=True)
                self._dead.add(offset)
                self._has_news = True

    def _restore(self, offset: int, held: Held) -> None:
        """Makes a dead message ready again."""
        self._held[offset] = replace(held, is_dead=False)
        self._dead.remove(offset)
        self._waiting.restore(offset, held)
        self.in_flight_count -= 1
        self.ready_count += 1
        self._has_news = True

    def _void_attempt(self, offset: int, held: Held) -> None:
        if held.attempt:
            self._attempts.void(held.attempt, offset)

    def _expect_groups(self) -> None:
        if type(self._waiting) is Ungrouped:
            self._waiting = FairGroups(self._waiting, self.in_flight_count - len(self._dead))

    def _apply_delivered(self, change: Delivered) -> None:
        offsets, now_ms, deadline_ms, attempt = change
        if self._take_first_in_line(offsets):
            # The usual receive: nothing has to be searched for.
            held = Held(deadline_ms, now_ms, now_ms, None, attempt)
            self._held.update(dict.fromkeys(offsets, held))
            fresh, delivered = len(offsets), list(offsets)
        else:
            fresh, delivered = self._deliver_each(change)
        self.ready_count -= fresh
        self.in_flight_count += fresh
        if delivered:
            if attempt:
                self._attempts.note(attempt, now_ms, tuple(delivered))
            self._deadlines.add(deadline_ms, delivered)

    def _deliver_each(self, change: Delivered) -> tuple[int, list[int]]:
        """Delivers one by one; returns the number of first deliveries, and all offsets
        delivered."""
        offsets, now_ms, deadline_ms, attempt = change
        all_held, waiting = self._held, self._waiting
        fresh = 0
        delivered: list[int] = []
        for offset in offsets:
            held = all_held.get(offset)
            if held is not None:
                self._deliver_again(offset, held, change)
            else:
                try:
                    group = waiting.deliver(offset, now_ms)
                except KeyError:
                    # Recovery did not notice that its delay was over.
                    if not self._delayed.discard(offset):
                        continue
                    self._mature([(offset, offset + 1)])
                    group = waiting.deliver(offset, now_ms)
                all_held[offset] = Held(deadline_ms, now_ms, now_ms, group, attempt)
                fresh += 1
            delivered.append(offset)
        return fresh, delivered

    def _take_first_in_line(self, offsets: Sequence[int]) -> bool:
        """Takes the offsets if they are the first fresh messages of a queue without groups."""
        waiting = self._waiting
        if type(waiting) is not Ungrouped:
            return False
        run = as_run(offsets)
        return run is not None and waiting.deliver_first(run)

    def _deliver_again(self, offset: int, held: Held, change: Delivered) -> None:
        if held.is_in_flight:
            # Its time-out had passed, which recovery did not notice.
            self._void_attempt(offset, held)
            self._waiting.give_back(offset, held, change.now_ms)
            self.in_flight_count -= 1
            self.ready_count += 1
        self._hide(offset, held, change.now_ms)
        self._held[offset] = Held(
            change.deadline_ms,
            change.now_ms,
            held.first_received_ms,
            held.group,
            change.attempt,
            held.receive_count + 1,
        )

    def _hide(self, offset: int, held: Held, now_ms: int) -> None:
        """Puts a returned or dead message in flight again."""
        if held.is_dead:
            self._restore(offset, held)
        self._waiting.redeliver(offset, held, now_ms)
        self.ready_count -= 1
        self.in_flight_count += 1

    def _apply_visibility_changed(self, change: VisibilityChanged) -> None:
        offset, deadline_ms = change
        held = self._held.get(offset)
        if held is None:
            return
        if deadline_ms > self._now_ms:
            # The time-out may have passed while the change was being written. The message was in
            # flight when the consumer asked, and recovery would find it so.
            if not held.is_in_flight:
                self._hide(offset, held, self._now_ms)
            self._held[offset] = replace(
                held, deadline_ms=deadline_ms, is_in_flight=True, is_dead=False
            )
            self._deadlines.add(deadline_ms, [offset])
            return
        held = self._held[offset] = replace(held, deadline_ms=deadline_ms)
        if held.is_in_flight:
            self._end_flight(offset, held)

    def _apply_deleted(self, change: Deleted) -> None:
        self._finish(change.offsets)

    def _finish(self, offsets: Sequence[int]) -> None:
        ended = list(map(self._held.pop, offsets, repeat(None)))
        if type(self._waiting) is Ungrouped and all(map(_is_only_in_flight, set(ended))):
            # The usual case: nothing else refers to these messages.
            self.in_flight_count -= len(ended)
            return
        for offset, held in zip(offsets, ended, strict=True):
            if held is None:
                if self._waiting.discard(offset):
                    self.ready_count -= 1
                elif self._delayed.discard(offset):
                    self._waiting.discard_delayed(offset)
            elif held.is_in_flight:
                self.in_flight_count -= 1
                self._waiting.settle(held, self._now_ms)
                if held.attempt:
                    self._void_attempt(offset, held)
            elif held.is_dead:
                self.in_flight_count -= 1
                self._dead.remove(offset)
            else:
                self.ready_count -= 1
                self._waiting.discard_returned(offset, held)

    def _apply_trimmed(self, change: Trimmed) -> None:
        before_offset = change.before_offset
        expired = [offset for offset in self._held if offset < before_offset]
        if expired:
            self._finish(expired)
            # Their groups may be unlocked.
            self._has_news = True
        self._delayed.remove_below(before_offset)
        self.ready_count -= self._waiting.trim(before_offset)
        self._replays = [replay for replay in self._replays if replay[0] >= before_offset]

    def _apply_replayed(self, change: Replayed) -> None:
        groups = {offset: group for group, offsets in change.groups for offset in offsets}
        if groups:
            self._expect_groups()
        done = self._done(change.first_offset, min(change.next_offset, self.end_offset))
        if done:
            self._waiting.replay(done, groups, change.now_ms)
            self.ready_count += sum(next_offset - first for first, next_offset in done)
            cutoff_ms = change.now_ms - self._rules.retention_ms
            self._replays = [replay for replay in self._replays if replay[1] > cutoff_ms]
            self._replays.append((done[0][0], change.now_ms))
            self._has_news = True

    def undone_ranges(self, from_offset: int, end_offset: int) -> Iterator[tuple[int, int]]:
        """Ranges that are not done, ascending; the last may reach beyond `end_offset`.

        Messages that the machine does not know yet count as not done.
        """
        held = sorted(offset for offset in self._held if from_offset <= offset < end_offset)
        undone = merge(
            ((offset, offset + 1) for offset in held),
            self._waiting.fresh_pieces(from_offset),
            self._delayed.ranges.pieces(from_offset),
            [(self.end_offset, max(self.end_offset, end_offset))],
        )
        return takewhile(lambda piece: piece[0] < end_offset, undone)

    def _done(self, from_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """The ranges in which everything is done."""
        undone = self.undone_ranges(from_offset, end_offset)
        done = []
        for first, next_offset in chain(undone, [(end_offset, end_offset)]):
            if from_offset < min(first, end_offset):
                done.append((from_offset, min(first, end_offset)))
            if first >= end_offset:
                break
            from_offset = next_offset
        return done


def _is_only_in_flight(held: Held | None) -> bool:
    return held is not None and held.is_in_flight and not held.attempt


_APPLY: dict[type, Callable[[Transitions, Any], None]] = {
    Delivered: Transitions._apply_delivered,
    Deleted: Transitions._apply_deleted,
    VisibilityChanged: Transitions._apply_visibility_changed,
    Trimmed: Transitions._apply_trimmed,
    Replayed: Transitions._apply_replayed,
}
