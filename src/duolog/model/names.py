"""Which names a topic may have, and which are the system's own."""

import re

from duolog.model.errors import InvalidTopic
from duolog.model.limits import TOPIC_NAME_CHARS_MAX

OFFSETS_TOPIC = "__consumer_offsets"
INTERNAL_TOPICS = frozenset((OFFSETS_TOPIC, "__transaction_state", "__share_group_state"))
"""As in Kafka. Other names that begin with "__" are the users' own."""

_LEGAL_TOPIC = re.compile(r"[A-Za-z0-9._-]+\Z")


def check_topic_name(name: str) -> None:
    """Refuse a name that Kafka refuses; a legal name is also a safe directory name."""
    if not name:
        raise InvalidTopic("a topic name cannot be empty")
    if name in (".", ".."):
        raise InvalidTopic("a topic cannot be called '.' or '..'")
    if len(name) > TOPIC_NAME_CHARS_MAX:
        raise InvalidTopic(f"a topic name has at most {TOPIC_NAME_CHARS_MAX} characters")
    if not _LEGAL_TOPIC.match(name):
        raise InvalidTopic("a topic name holds only letters, digits, '.', '_' and '-'")


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS
