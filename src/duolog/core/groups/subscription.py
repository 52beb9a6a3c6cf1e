"""Reads the topics from the metadata of a member of a consumer group.

Every version of Kafka's ConsumerProtocolSubscription starts with a version and the topics, so one
reader serves them all, and later ones.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError

CONSUMER_PROTOCOL = "consumer"
"""Protocol type whose metadata is a ConsumerProtocolSubscription."""

_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """Topics of a subscription; None if the metadata is not one."""
    topics = []
    try:
        version, count = _VERSION_AND_COUNT.unpack_from(metadata)
        if version < 0 or count < 0 or count > len(metadata):
            return None
        at = _VERSION_AND_COUNT.size
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(metadata, at)
            at += _LENGTH.size
            if length < 0 or at + length > len(metadata):
                return None
            topics.append(metadata[at : at + length].decode())
            at += length
    except (StructError, UnicodeDecodeError):
        return None
    return frozenset(topics)


def all_subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Union over all members; None if one is unreadable, for nothing is certain then."""
    topics: set[str] = set()
    for each in metadata:
        subscribed = subscribed_topics(each)
        if subscribed is None:
            return None
        topics |= subscribed
    return frozenset(topics)


def same_subscription(protocol_type: str, before: bytes, after: bytes) -> bool:
    """True if a returning member subscribes to what it had.

    A consumer's metadata also carries the partitions it owned when it joined, which a restarted one
    no longer knows: only the topics are compared.
    """
    if before == after:
        return True
    topics = subscribed_topics(before)
    return (
        protocol_type == CONSUMER_PROTOCOL
        and topics is not None
        and topics == subscribed_topics(after)
    )
