"""Rules for names of topics and queues, and the names reserved for the system."""

import re

from duolog.model.errors import InvalidTopic
from duolog.model.limits import QUEUE_NAME_CHARS_MAX, TOPIC_NAME_CHARS_MAX
from duolog.model.queue_errors import InvalidParameterValue

OFFSETS_TOPIC = "__consumer_offsets"
USAGE_TOPIC = "__usage"
"""Topic of the usage lines from which bills are made."""
INTERNAL_TOPICS = frozenset(
    (OFFSETS_TOPIC, "__transaction_state", "__share_group_state", USAGE_TOPIC)
)
"""Kafka's internal topics, and our own. Other names that begin with "__" are free for users, except
those with the next prefix."""

QUEUE_STATE_PREFIX = "__queue."
"""Prefix of a queue's journal: the topic with the changes of the queue's delivery state."""

FIFO_SUFFIX = ".fifo"

STANDARD_NAME_RULE = (
    "Can only include alphanumeric characters, hyphens, or underscores. 1 to"
    f" {QUEUE_NAME_CHARS_MAX} in length"
)
FIFO_NAME_RULE = (
    "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores,"
    f" must end with {FIFO_SUFFIX} suffix and be 1 to {QUEUE_NAME_CHARS_MAX} in length."
)
"""Rules for standard and FIFO names in SQS's own words."""

_LEGAL_TOPIC = re.compile(r"[A-Za-z0-9._-]+\Z")
_LEGAL_QUEUE = re.compile(r"[A-Za-z0-9_-]+(?:\.fifo)?\Z")
_QUEUE_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:([A-Za-z0-9_-]+(?:\.fifo)?)\Z")


def check_topic_name(name: str) -> None:
    """Refuses a name that Kafka refuses; a legal name is also a safe directory name."""
    if not name:
        raise InvalidTopic("a topic name cannot be empty")
    if name in (".", ".."):
        raise InvalidTopic("a topic cannot be called '.' or '..'")
    if len(name) > TOPIC_NAME_CHARS_MAX:
        raise InvalidTopic(f"a topic name has at most {TOPIC_NAME_CHARS_MAX} characters")
    if not _LEGAL_TOPIC.match(name):
        raise InvalidTopic("a topic name holds only letters, digits, '.', '_' and '-'")


def check_queue_name(name: str) -> None:
    """Refuses a name that SQS refuses, and names reserved for the system."""
    if len(name) > QUEUE_NAME_CHARS_MAX or not _LEGAL_QUEUE.match(name):
        raise InvalidParameterValue(FIFO_NAME_RULE if is_fifo(name) else STANDARD_NAME_RULE)
    if is_reserved(name):
        raise InvalidParameterValue(f"The name {name} is reserved for the system.")


def is_fifo(queue: str) -> bool:
    return queue.endswith(FIFO_SUFFIX)


def queue_state_topic(queue: str) -> str:
    return QUEUE_STATE_PREFIX + queue


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS or topic.startswith(QUEUE_STATE_PREFIX)


def uses_reserve(topic: str) -> bool:
    """True if the topic is written on a full disk, too, so that receiving, deleting and committing
    offsets go on."""
    return topic == OFFSETS_TOPIC or topic.startswith(QUEUE_STATE_PREFIX)


def is_reserved(name: str) -> bool:
    """True if the name is an internal topic's, or would collide with one in the catalog."""
    folded = fold(name)
    return folded in INTERNAL_TOPICS or folded.startswith(fold(QUEUE_STATE_PREFIX))


def fold(name: str) -> str:
    """Common form of names that differ only in '.' and '_', of which only one may exist.

    Kafka refuses such pairs of topics because metric names fold the two characters into one; a
    queue is a topic, so the same holds for queues.
    """
    return name.replace(".", "_")


def queue_arn(queue: str, region: str, account: str) -> str:
    return f"arn:aws:sqs:{region}:{account}:{queue}"


def parse_queue_arn(arn: str) -> str:
    """Name of the queue in an ARN."""
    match = _QUEUE_ARN.match(arn)
    if match is None:
        raise InvalidParameterValue(f"{arn} is not the ARN of a queue.")
    return match[1]
