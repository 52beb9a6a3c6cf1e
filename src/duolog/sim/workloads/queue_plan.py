"""Features of a seed's queues, drawn at random: each seed has some of them, few have all."""

from dataclasses import dataclass
from random import Random

STANDARD = "jobs"
FIFO = "steps.fifo"
HIGH_THROUGHPUT = {
    "DeduplicationScope": "messageGroup",
    "FifoThroughputLimit": "perMessageGroupId",
}


@dataclass(frozen=True, slots=True)
class QueuePlan:
    name: str
    is_fifo: bool
    receives_max: int | None
    """Receives after which a message becomes a dead letter; None: no dead-letter queue."""
    delay_seconds: int
    is_high_throughput: bool
    """True if the groups of a FIFO queue are spread over several partitions."""

    @property
    def dead_letters(self) -> str:
        return "dead-" + self.name

    @property
    def attributes(self) -> dict[str, str]:
        attributes = {"FifoQueue": "true"} if self.is_fifo else {}
        if self.delay_seconds:
            attributes["DelaySeconds"] = str(self.delay_seconds)
        if self.is_high_throughput:
            attributes |= HIGH_THROUGHPUT
        return attributes


def plan_queues(random: Random) -> list[QueuePlan]:
    return [
        QueuePlan(
            STANDARD,
            is_fifo=False,
            receives_max=random.choice((None, 1, 2, 3)),
            delay_seconds=random.choice((0, 0, 0, 2)),
            is_high_throughput=False,
        ),
        QueuePlan(
            FIFO,
            is_fifo=True,
            receives_max=random.choice((None, None, 1, 2, 3)),
            delay_seconds=random.choice((0, 0, 0, 1)),
            is_high_throughput=random.random() < 0.3,
        ),
    ]
