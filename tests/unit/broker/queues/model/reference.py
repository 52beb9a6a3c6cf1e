"""What SQS promises of a queue, as simply as it can be said. The model test compares with it.

A message is known by its place: partition and offset. Its state changes by events. Those that
nobody was told of yet may or may not outlive a crash, each of them for itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

DEDUPLICATION_MS = 300_000
ATTEMPT_MS = 300_000
VISIBILITY_MS_MAX = 43_200_000

Place = tuple[int, int]

Verdict = Literal["refused", "accepted", "deleted"]
"""A receipt may be accepted without having an effect."""


class State(NamedTuple):
    receive_count: int = 0
    hidden_until_ms: int = 0
    first_received_ms: int = 0
    received_ms: int = 0
    is_done: bool = False


FRESH = State()


class Taken(NamedTuple):
    now_ms: int
    until_ms: int


class Hidden(NamedTuple):
    until_ms: int


class Done(NamedTuple):
    """Deleted, purged, expired, or moved to another queue."""


class Revived(NamedTuple):
    """Replayed: as if it had never been received."""


Event = Taken | Hidden | Done | Revived


def after(state: State, event: Event) -> State:
    match event:
        case Revived():
            return FRESH if state.is_done else state
        case _ if state.is_done:
            return state
        case Taken(now_ms, until_ms):
            first_ms = state.first_received_ms or now_ms
            return State(state.receive_count + 1, until_ms, first_ms, now_ms)
        case Hidden(until_ms):
            return state._replace(hidden_until_ms=until_ms) if state.receive_count else state
        case Done():
            return State(is_done=True)


@dataclass(eq=False)
class Message:
    place: Place
    id: str
    body: str
    group: str | None
    order: int
    """Of arrival, among all messages of the test."""
    sent_ms: int
    """When it came to this queue: retention counts from here."""
    due_ms: int
    lives: int = 0
    """How often it was replayed. What was received in an earlier life is over."""
    state: State = FRESH
    done_ms: int = 0
    is_condemned: bool = False
    """It was dead when the move to the dead-letter queue began, which nothing stops."""
    _certain: State = FRESH
    _doubtful: list[tuple[Event, object]] = field(default_factory=list)

    def happen(self, event: Event, told: object = None) -> None:
        """`told` is the request whose answer makes it certain."""
        self.state = after(self.state, event)
        self._doubtful.append((event, told))

    def settle(self, told: object) -> None:
        """The request was answered: it, and what came before it, cannot be undone."""
        last = max((at for at, (_, by) in enumerate(self._doubtful) if by is told), default=-1)
        for event, _ in self._doubtful[: last + 1]:
            self._certain = after(self._certain, event)
        del self._doubtful[: last + 1]

    def settle_all(self) -> None:
        self._certain = self.state
        self._doubtful.clear()

    def settle_as(self, state: State) -> None:
        """A crash has decided."""
        self.state = state
        self.settle_all()

    def possible(self) -> set[State]:
        """What a crash may leave."""
        events = [event for event, _ in self._doubtful]
        found = set()
        for count in range(len(events) + 1):
            for some in combinations(events, count):
                state = self._certain
                for event in some:
                    state = after(state, event)
                found.add(state)
        return found


class Receipt(NamedTuple):
    handle: str
    place: Place
    life: int
    receive_count: int


class Counts(NamedTuple):
    ready: int
    in_flight: int
    delayed: int


class ReferenceQueue:
    def __init__(self, *, fifo: bool, once: bool = False, in_flight_max: int = 120_000) -> None:
        self.fifo = fifo
        self.once = once
        self.in_flight_max = in_flight_max
        """Of one partition."""
        self.visibility_ms = 30_000
        self.delay_ms = 0
        self.retention_ms = 345_600_000
        self.receive_count_max: int | None = None
        self.messages: dict[Place, Message] = {}
        self.done: dict[Place, Message] = {}
        self.replayed_ms = 0
        self._sent: dict[tuple[str | None, str], tuple[str, int]] = {}
        """By deduplication scope and id: the body that was sent, and when."""

    # What is where.

    def is_in_flight(self, message: Message, now_ms: int) -> bool:
        return message.state.hidden_until_ms > now_ms

    def is_dead(self, message: Message, now_ms: int) -> bool:
        """Received too often: it goes to the dead-letter queue, and to nobody else."""
        limit = self.receive_count_max
        is_exhausted = limit is not None and message.state.receive_count >= limit
        return is_exhausted and not self.is_in_flight(message, now_ms)

    def is_delayed(self, message: Message, now_ms: int) -> bool:
        return message.due_ms > now_ms

    def counts(self, now_ms: int) -> Counts:
        delayed = sum(self.is_delayed(each, now_ms) for each in self.messages.values())
        in_flight = sum(map(len, self._in_flight(now_ms).values()))
        return Counts(len(self.messages) - delayed - in_flight, in_flight, delayed)

    def _in_flight(self, now_ms: int) -> dict[int, list[Message]]:
        """By partition, with those on their way to the dead-letter queue."""
        found: dict[int, list[Message]] = {}
        for message in self.messages.values():
            if self.is_in_flight(message, now_ms) or self.is_dead(message, now_ms):
                found.setdefault(message.place[0], []).append(message)
        return found

    def lanes(self, now_ms: int) -> list[list[Message]]:
        """What could be received now. Each lane may be taken from in its order only."""
        waiting = sorted(self.messages.values(), key=lambda message: message.order)
        waiting = [each for each in waiting if not self.is_dead(each, now_ms)]
        if not self.fifo:
            return [
                [each]
                for each in waiting
                if not self.is_in_flight(each, now_ms) and not self.is_delayed(each, now_ms)
            ]
        lanes: dict[str | None, list[Message]] = {}
        blocked = {each.group for each in waiting if self.is_in_flight(each, now_ms)}
        for each in waiting:
            if self.is_delayed(each, now_ms):
                blocked.add(each.group)
            if each.group not in blocked:
                lanes.setdefault(each.group, []).append(each)
        return list(lanes.values())

    def available(self, now_ms: int) -> int:
        """How many messages a receive that takes any number would get."""
        in_flight = self._in_flight(now_ms)
        found: dict[int, int] = {}
        for lane in self.lanes(now_ms):
            (partition,) = {message.place[0] for message in lane}
            found[partition] = found.get(partition, 0) + len(lane)
        return sum(
            min(count, max(0, self.in_flight_max - len(in_flight.get(partition, ()))))
            for partition, count in found.items()
        )

    def is_over_limit(self, now_ms: int) -> bool:
        in_flight = self._in_flight(now_ms).values()
        return not self.fifo and any(len(each) >= self.in_flight_max for each in in_flight)

    # What happens.

    def arrive(self, message: Message) -> None:
        assert message.place not in self.messages
        assert message.place not in self.done
        self.messages[message.place] = message

    def duplicate_of(self, scope: str | None, given: str, now_ms: int) -> str | None:
        """The body under which the same was sent, if that is less than five minutes ago."""
        body, sent_ms = self._sent.get((scope, given), ("", -DEDUPLICATION_MS))
        return body if now_ms - sent_ms < DEDUPLICATION_MS else None

    def latest_sent(self) -> tuple[str | None, str, int] | None:
        """Scope, id and time of what was sent last with a deduplication id."""
        if not self._sent:
            return None
        (scope, given), (_, sent_ms) = list(self._sent.items())[-1]
        return scope, given, sent_ms

    def remember(self, scope: str | None, given: str, body: str, now_ms: int) -> None:
        self._sent.pop((scope, given), None)
        self._sent[scope, given] = body, now_ms

    def forget(self, bodies: Iterable[str]) -> None:
        """They were never sent."""
        lost = set(bodies)
        self._sent = {key: sent for key, sent in self._sent.items() if sent[0] not in lost}

    def take(self, places: Sequence[Place], now_ms: int, until_ms: int, told: object) -> None:
        """A receive got these, in this order."""
        lanes = {lane[0].group if self.fifo else lane[0].place: lane for lane in self.lanes(now_ms)}
        assert len(places) <= self.available(now_ms)
        for place in places:
            message = self.messages[place]
            lane = lanes.get(message.group if self.fifo else place)
            assert lane, f"{message} may not be received"
            assert lane.pop(0) is message, f"{message} is not the next of its group"
        for place in places:
            message = self.messages[place]
            message.happen(Taken(now_ms, until_ms), told)
            if self.once:
                self.end(message, now_ms, told)

    def end(self, message: Message, now_ms: int, told: object = None) -> None:
        message.happen(Done(), told)
        message.done_ms = now_ms
        self.done[message.place] = self.messages.pop(message.place)

    def verdict(self, receipt: Receipt, now_ms: int) -> Verdict:
        """What becomes of a request to delete."""
        message = self.messages.get(receipt.place)
        if message is None or not message.state.receive_count:
            return "accepted"
        is_latest = self._is_latest(message, receipt)
        if self.fifo:
            is_valid = is_latest and self.is_in_flight(message, now_ms)
            return "deleted" if is_valid else "refused"
        return "deleted" if is_latest else "accepted"

    def change_visibility(self, receipt: Receipt, ms: int, now_ms: int, told: object) -> str:
        """The name of the refusal, or nothing."""
        message = self.messages.get(receipt.place)
        if message is None or not message.state.receive_count:
            return "InvalidParameterValue"
        if not self._is_latest(message, receipt) or not self.is_in_flight(message, now_ms):
            return "MessageNotInflight"
        if now_ms + ms > message.state.received_ms + VISIBILITY_MS_MAX:
            return "InvalidParameterValue"
        message.happen(Hidden(now_ms + ms), told)
        return ""

    def _is_latest(self, message: Message, receipt: Receipt) -> bool:
        latest = message.lives, message.state.receive_count
        return (receipt.life, receipt.receive_count) == latest

    def revive(self, message: Message, now_ms: int) -> None:
        message.happen(Revived())
        message.lives += 1
        message.due_ms = 0
        self.messages[message.place] = self.done.pop(message.place)
        self.replayed_ms = now_ms

    def is_past_retention(self, message: Message, now_ms: int) -> bool:
        return now_ms - message.sent_ms >= self.retention_ms
