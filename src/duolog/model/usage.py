"""Kinds of resources and operations by which usage is counted, as in usage lines and prices."""

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
"""Operations at the Kafka door, at the SQS door, and by the broker itself. `other` is every action
on a queue that moves no message."""

OPERATIONS: tuple[str, ...] = get_args(Operation)
