"""Promises of a queue: compares what senders were told with what receivers see.

A message whose sending was acknowledged is received until it is deleted, and not after: in its
queue, or among the dead letters once it was received too often. Receive counts only rise. A FIFO
queue holds a message once however often it was sent, and hands out the messages of a group in
order, each after the ones before it were deleted.

Visibility timeouts and delays end by a node's clock, so they are judged only while all clocks
agree.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from duolog.sim.oracle.messages import Deletion, Message, Stay
from duolog.sim.oracle.verdict import Verdict

GRAIN_NS = 1_000_000
"""Resolution of a queue's times: one millisecond."""


class Delivered(NamedTuple):
    """A message, as one receive brought it."""

    body: str
    message_id: str
    receives: int
    """Times that it was received from this queue so far."""
    is_dead: bool = False
    """True if it came from the queue of dead letters."""


class QueueOracle:
    def __init__(
        self,
        verdict: Verdict,
        queue: str,
        now_ns: Callable[[], int],
        clocks_agree: Callable[[], bool],
        *,
        is_fifo: bool,
        receives_max: int | None = None,
    ) -> None:
        self._verdict = verdict
        self._queue = queue
        self._now_ns = now_ns
        self._clocks_agree = clocks_agree
        self._is_fifo = is_fifo
        self._receives_max = receives_max
        """Receives after which a message becomes a dead letter; None: never."""
        self._messages: dict[str, Message] = {}
        self._sizes: dict[str, int] = {}
        """Number of messages attempted so far, by group."""
        self._open: dict[str, dict[str, Message]] = {}
        """Messages sent that nobody can have deleted yet, by group."""
        self.sent_count = 0
        self.deleted_count = 0
        self.dead_count = 0

    @property
    def left(self) -> list[str]:
        """Bodies of messages sent that nobody can have deleted yet."""
        return [body for members in self._open.values() for body in members]

    def attempted(self, body: str, group: str, due_ns: int = 0) -> None:
        number = self._sizes.get(group, 0)
        self._sizes[group] = number + 1
        self._messages[body] = Message(group, number, due_ns)

    def sent(self, body: str, message_id: str) -> None:
        """Record an acknowledged send, which may repeat one that succeeded before."""
        message = self._messages[body]
        self._identify(body, message, message_id)
        if not message.is_sent:
            message.is_sent = True
            self.sent_count += 1
            if not message.may_be_deleted:
                self._open.setdefault(message.group, {})[body] = message

    def received(self, deliveries: Sequence[Delivered], asked_ns: int, hidden_ns: int) -> None:
        """Check the messages of a receive sent at `asked_ns` with a visibility timeout of
        `hidden_ns`."""
        numbers: dict[str, int] = {}
        for delivery in deliveries:
            message = self._messages.get(delivery.body)
            if message is None:
                self._violated("no inventions", f"{delivery.body} was received and never sent")
                continue
            self._identify(delivery.body, message, delivery.message_id)
            self._check_life(message, delivery, asked_ns)
            if self._is_fifo and not delivery.is_dead:
                if message.number < numbers.get(message.group, 0):
                    self._violated("order of groups", f"{delivery.body} is out of order")
                numbers[message.group] = message.number
                self._check_order(message, deliveries)
            now_ns = self._now_ns()
            stay = message.dead if delivery.is_dead else message.stay
            stay.deliver(delivery.receives, now_ns, asked_ns + hidden_ns)
            if delivery.is_dead and message.dead_ns is None:
                message.dead_ns = now_ns
                self.dead_count += 1

    def hiding(self, body: str, count: int, until_ns: int, *, is_dead: bool) -> None:
        """Record that a visibility change of this delivery was sent; its outcome is still open."""
        stay = self._stay(body, is_dead)
        if stay.latest == count:
            stay.hidden_until_ns = min(stay.hidden_until_ns, until_ns)

    def hidden(self, body: str, count: int, until_ns: int, *, is_dead: bool) -> None:
        """Record that the visibility change was acknowledged."""
        stay = self._stay(body, is_dead)
        if stay.latest == count:
            stay.hidden_until_ns = until_ns

    def deleting(self, body: str, count: int, *, is_dead: bool = False) -> bool:
        """Record that a deletion by this delivery's receipt was sent; returns whether it can take
        effect."""
        message = self._messages[body]
        has_effect = count == self._stay(body, is_dead).latest
        if message.dead_ns is not None and not is_dead:
            has_effect = False
        if has_effect and not message.may_be_deleted:
            message.may_be_deleted = True
            self._open.get(message.group, {}).pop(body, None)
        return has_effect

    def deleted(self, body: str, count: int, *, is_dead: bool = False) -> None:
        """Record that the deletion was acknowledged."""
        stay, now_ns = self._stay(body, is_dead), self._now_ns()
        is_hidden = now_ns + GRAIN_NS < stay.hidden_until_ns
        in_time = is_hidden and self._clocks_agree() and stay.latest == count
        # A FIFO queue refuses the receipt of any but the latest delivery.
        stay.deletions.append(Deletion(count, now_ns, in_time or self._is_fifo))
        if len(stay.deletions) == 1:
            self.deleted_count += 1

    def finish(self) -> None:
        """Check that every message sent was received and deleted by the end."""
        for body in self.left:
            self._violated("nothing acknowledged is lost", f"{body} was sent and is gone")
        for body, message in self._messages.items():
            if message.passed_ns is not None and message.dead_ns is None:
                self._violated("order of groups", f"{body} was passed over, and was not dead")

    def _stay(self, body: str, is_dead: bool) -> Stay:
        message = self._messages[body]
        return message.dead if is_dead else message.stay

    def _identify(self, body: str, message: Message, message_id: str) -> None:
        if message.message_id is None:
            message.message_id = message_id
        elif message.message_id != message_id and self._is_fifo:
            self._violated("deduplication", f"{body} is there twice")

    def _check_life(self, message: Message, delivery: Delivered, asked_ns: int) -> None:
        body, _, count, is_dead = delivery
        if is_dead and not self._is_fifo:
            # A standard queue may have moved a message to the dead letters twice; each copy has a
            # life of its own.
            return
        stay = message.dead if is_dead else message.stay
        other = stay.went_back(count, asked_ns)
        if other is not None:
            self._violated("receive counts rise", f"{body} came as {count} after {other}")
        if stay.is_over(count, asked_ns):
            self._violated("deleted messages stay deleted", f"{body} came back")
        now_ns = self._now_ns() + GRAIN_NS
        if now_ns < max(stay.hidden_until_ns, message.due_ns) and self._clocks_agree():
            self._violated("hidden messages", f"{body} came before its time")
        if is_dead:
            return
        if self._receives_max is not None and count > self._receives_max:
            self._violated("dead letters", f"{body} came for the {count}th time")
        if message.dead_ns is not None and message.dead_ns < asked_ns:
            self._violated("dead letters", f"{body} came to life again")
        if message.passed_ns is not None and message.passed_ns < asked_ns:
            self._violated("order of groups", f"{body} came after a later one")

    def _check_order(self, message: Message, together: Sequence[Delivered]) -> None:
        # One receive may bring several messages of a group, in their order.
        here = {each.body for each in together}
        for body, earlier in self._open.get(message.group, {}).items():
            if earlier.number >= message.number or body in here or earlier.dead_ns is not None:
                continue
            if self._receives_max is None:
                self._violated("order of groups", f"{message.number} came before {body}")
            elif earlier.passed_ns is None:
                earlier.passed_ns = self._now_ns()

    def _violated(self, rule: str, what: str) -> None:
        self._verdict.violated(rule, f"queue {self._queue}: {what}")
