"""What a topic can be told: Kafka's names, our bounds."""

from dataclasses import dataclass
from typing import Literal

Durability = Literal["fsync", "replicated", "os"]
TimestampType = Literal["CreateTime", "LogAppendTime"]


@dataclass(frozen=True, slots=True)
class TopicConfig:
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    retention_ms: int = 7 * 24 * 3600 * 1000
    """-1 keeps records for ever."""
    retention_bytes: int = -1
    """Per partition; -1 is no limit."""
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    max_message_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    timestamp_type: TimestampType = "CreateTime"
    timestamp_before_max_ms: int = (1 << 63) - 1
    timestamp_after_max_ms: int = 3_600_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    delete_retention_ms: int = 24 * 3600 * 1000
    min_cleanable_dirty_ratio: float = 0.5
    file_delete_delay_ms: int = 60_000
    unclean_leader_election: bool = False
    durability: Durability = "fsync"
