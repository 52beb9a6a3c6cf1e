"""Decides which committed offsets have expired. Kafka's rules, on wall-clock time."""

from collections.abc import Iterator

from duolog.core.groups.ledger import CommittedOffset, Ledger, TopicPartition
from duolog.core.groups.rebalance import Rebalance
from duolog.core.groups.state import GroupState


def expired_offsets(
    ledger: Ledger, rebalance: Rebalance, *, now_ms: int, retention_ms: int
) -> Iterator[TopicPartition]:
    for at, committed in ledger.offsets.items():
        if not _may_age(at, rebalance):
            continue
        until_ms = committed.expire_timestamp_ms
        if until_ms is None:
            until_ms = _idle_since_ms(committed, rebalance) + retention_ms
        if now_ms >= until_ms:
            yield at


def _may_age(at: TopicPartition, rebalance: Rebalance) -> bool:
    if rebalance.state is GroupState.EMPTY:
        return True
    # While a group is alive, an offset is kept unless certainly nobody reads the topic any more.
    return (
        rebalance.state is GroupState.STABLE
        and rebalance.subscribed is not None
        and at.topic not in rebalance.subscribed
    )


def _idle_since_ms(committed: CommittedOffset, rebalance: Rebalance) -> int:
    """Time from which an offset ages: the last member's departure, or its commit."""
    managed = rebalance.roster.protocol_type is not None
    if rebalance.state is GroupState.EMPTY and managed and rebalance.since_ms is not None:
        return max(rebalance.since_ms, committed.commit_timestamp_ms)
    return committed.commit_timestamp_ms
