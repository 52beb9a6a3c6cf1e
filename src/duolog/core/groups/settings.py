"""Settings of a group coordinator, filled from configuration by the composition root."""

from dataclasses import dataclass

from duolog.model.limits import OFFSET_METADATA_BYTES_MAX


@dataclass(frozen=True, slots=True)
class GroupSettings:
    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 100
    """Wait of an empty group for more members before its first assignment.

    Long enough for consumers that start together to share one rebalance, too short for a single one
    to notice.
    """
    new_member_join_timeout_ms: int = 300_000
    """Longest time that a member without an id may stay parked in a rebalance.

    It has no id to send heartbeats with, so nothing else would ever remove it.
    """
    group_size_max: int = 10_000
    groups_max: int = 50_000
    member_bytes_max: int = 1 << 20
    """Limit of the metadata that one member brings, and of its assignment."""
    group_bytes_max: int = 8 << 20
    """Limit of the metadata of all members together, and of all their assignments.

    Both are written as one record, which has to fit into one batch of the offsets topic.
    """
    offset_metadata_bytes_max: int = OFFSET_METADATA_BYTES_MAX
    offsets_retention_ms: int = 7 * 24 * 3600 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    offsets_partitions: int = 8
    """Partitions with which the offsets topic is created; an existing topic keeps its own."""
    writes_queued_max: int = 10_000
    """Limit of writes that wait for the disk, per partition of the offsets topic."""
