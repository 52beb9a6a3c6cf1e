"""What usage is counted of, and for what: as usage lines and price lists name it."""

from typing import Literal, get_args

Kind = Literal["queue", "topic"]

Operation = Literal[
    "produce",
    "fetch",
    "send",
    "receive",
    "delete",
    "other",
    "store",
    "dead_letter",
    "expire",
]
"""At the Kafka door, at the SQS door, and by the broker itself. `other` is every action on a
queue that moves no message."""

OPERATIONS: tuple[str, ...] = get_args(Operation)
