"""The demo clients' actions, drawn beforehand, so that the right report is known. Pure.

A producer numbers its messages. A number that it skips counts as a loss, one that it sends again as
a duplicate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Sending:
    producer: str
    numbers: Sequence[int]
    """Sequence numbers, in the order of sending."""
    losses: frozenset[int]
    """Numbers never sent."""
    duplicates: frozenset[int]
    """Numbers sent twice."""


@dataclass(frozen=True)
class Plan:
    to_topic: Sequence[Sending]
    to_queue: Sequence[Sending]
    poisoned: int
    """Messages to the queue that consumers always fail on."""
    left: int
    """Messages to the queue that no consumer receives."""

    @property
    def sendings(self) -> list[Sending]:
        return [*self.to_topic, *self.to_queue]

    @property
    def sent_to_topic(self) -> int:
        return sum(len(each.numbers) for each in self.to_topic)

    @property
    def sent_to_queue(self) -> int:
        return sum(len(each.numbers) for each in self.to_queue) + self.poisoned + self.left

    @property
    def sent(self) -> int:
        return self.sent_to_topic + self.sent_to_queue

    @property
    def losses(self) -> int:
        return sum(len(each.losses) for each in self.sendings)

    @property
    def duplicates(self) -> int:
        return sum(len(each.duplicates) for each in self.sendings)


def planned(messages: int, random: Random) -> Plan:
    """Plan with two producers for a topic and two for a queue, of about `messages` each."""
    return Plan(
        [_sending(f"sensor-{number}", messages, random) for number in (1, 2)],
        [_sending(f"shop-{number}", messages, random) for number in (1, 2)],
        poisoned=random.randint(3, 9),
        left=random.randint(10, 30),
    )


def _sending(producer: str, count: int, random: Random) -> Sending:
    # Losses only between the first and the last number: others leave no gap.
    within = range(2, count)
    chosen = random.sample(within, random.randint(4, 12))
    cut = random.randint(1, len(chosen) - 1)
    losses, duplicates = frozenset(chosen[:cut]), frozenset(chosen[cut:])
    numbers = [number for number in range(1, count + 1) if number not in losses]
    for number in sorted(duplicates):
        # Repeated a little later, as by a client that missed the answer to its first attempt.
        again = numbers.index(number) + random.randint(1, 20)
        numbers.insert(again, number)
    return Sending(producer, numbers, losses, duplicates)
