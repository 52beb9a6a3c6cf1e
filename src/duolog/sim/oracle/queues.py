"""What senders and receivers of queues were promised.

A message whose sending was acknowledged is received until it is deleted, and not after. In a
FIFO queue it is there once however often it was sent, and those of a group come in order, each
when the ones before it were deleted.
"""

from collections.abc import Sequence

from duolog.sim.oracle.verdict import Verdict


class _Message:
    def __init__(self, group: str, number: int) -> None:
        self.group = group
        self.number = number
        """The how manieth of its group."""
        self.is_sent = False
        """Whether its sending was acknowledged."""
        self.message_id: str | None = None
        self.may_be_deleted = False
        """Whether somebody has asked for its deletion."""
        self.deliveries = 0
        """As many as receivers have seen."""
        self.deleted_ns: int | None = None
        """When a deletion that cannot have been too late was acknowledged."""


class QueueOracle:
    def __init__(self, verdict: Verdict, queue: str, *, is_fifo: bool) -> None:
        self._verdict = verdict
        self._queue = queue
        self._is_fifo = is_fifo
        self._messages: dict[str, _Message] = {}
        self._groups: dict[str, list[_Message]] = {}
        self.sent_count = 0
        self.deleted_count = 0

    @property
    def left(self) -> list[str]:
        """What was sent and not deleted yet, as far as anybody knows."""
        return [
            body
            for body, message in self._messages.items()
            if message.is_sent and not message.may_be_deleted
        ]

    def attempted(self, body: str, group: str) -> None:
        members = self._groups.setdefault(group, [])
        self._messages[body] = message = _Message(group, len(members))
        members.append(message)

    def sent(self, body: str, message_id: str) -> None:
        message = self._messages[body]
        message.is_sent = True
        self.sent_count += 1
        self._identify(body, message, message_id)

    def received(self, bodies: Sequence[tuple[str, str]], asked_ns: int) -> None:
        """Bodies and message ids, by a receive that was sent then."""
        for body, message_id in bodies:
            message = self._messages.get(body)
            if message is None:
                self._violated("no inventions", f"{body} was received and never sent")
                continue
            self._identify(body, message, message_id)
            message.deliveries += 1
            if message.deleted_ns is not None and message.deleted_ns < asked_ns:
                self._violated("deleted messages stay deleted", f"{body} came back")
            if self._is_fifo:
                self._check_order(body, message, bodies)

    def deliveries(self, body: str) -> int:
        return self._messages[body].deliveries

    def deleting(self, body: str, delivery: int) -> bool:
        """By who received it as that delivery; whether that can have any effect."""
        message = self._messages[body]
        is_latest = delivery == message.deliveries
        message.may_be_deleted |= is_latest
        return is_latest

    def deleted(self, body: str, at_ns: int) -> None:
        """Acknowledged, surely before anybody else could have received the message."""
        message = self._messages[body]
        if message.deleted_ns is None:
            message.deleted_ns = at_ns
            self.deleted_count += 1

    def finish(self) -> None:
        """Everything that is left has been received and deleted by now."""
        for body in self.left:
            self._violated("nothing acknowledged is lost", f"{body} was sent and is gone")

    def _identify(self, body: str, message: _Message, message_id: str) -> None:
        if message.message_id is None:
            message.message_id = message_id
        elif message.message_id != message_id and self._is_fifo:
            self._violated("deduplication", f"{body} is there twice")

    def _check_order(
        self, body: str, message: _Message, together: Sequence[tuple[str, str]]
    ) -> None:
        # One receive may bring several of a group, in their order.
        here = {each for each, _ in together}
        for earlier in self._groups[message.group][: message.number]:
            name = f"{message.group}:{earlier.number}"
            if earlier.is_sent and not earlier.may_be_deleted and name not in here:
                self._violated("order of groups", f"{body} came before {name}")

    def _violated(self, rule: str, what: str) -> None:
        self._verdict.violated(rule, f"queue {self._queue}: {what}")
