"""Topic settings take effect or are refused with a reason; none is ignored."""

from dataclasses import fields

import pytest

from duolog.config.topic import TOPIC_SETTINGS, TopicConfig, parse_topic_config
from duolog.model.errors import InvalidConfig

KAFKA_4_TOPIC_SETTINGS = [
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
]


def test_every_topic_setting_of_kafka_4_is_known() -> None:
    ours = {"durability", "async.replicas", "autoscale.max.partitions"}
    assert set(TOPIC_SETTINGS) == {*KAFKA_4_TOPIC_SETTINGS, *ours}


def test_every_setting_has_a_field_or_a_reason_why_it_cannot_change() -> None:
    held = {setting.field for setting in TOPIC_SETTINGS.values() if setting.field}
    assert held | {"cleanup_delete", "cleanup_compact"} == {
        field.name for field in fields(TopicConfig)
    }
    for name, setting in TOPIC_SETTINGS.items():
        assert setting.field or setting.only or name == "cleanup.policy", name


def test_all_defaults_together_are_the_default_configuration() -> None:
    defaults = {name: setting.default_text for name, setting in TOPIC_SETTINGS.items()}
    assert parse_topic_config(defaults) == TopicConfig() == parse_topic_config({})


def test_a_topic_overrides_the_node_and_the_node_the_default() -> None:
    config = parse_topic_config(
        {"retention.ms": "1"}, {"retention.ms": "2", "retention.bytes": "3"}
    )
    assert (config.retention_ms, config.retention_bytes, config.segment_ms) == (
        1,
        3,
        TopicConfig().segment_ms,
    )


@pytest.mark.parametrize(
    ("policy", "deletes", "compacts"),
    [("delete", True, False), ("compact", False, True), ("compact,delete", True, True)],
)
def test_the_cleanup_policy_is_a_list(policy: str, deletes: bool, compacts: bool) -> None:
    config = parse_topic_config({"cleanup.policy": policy})
    assert (config.cleanup_delete, config.cleanup_compact) == (deletes, compacts)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("retention.m", "1", "did you mean retention.ms"),
        ("colour", "red", "no topic setting 'colour'"),
        ("retention.ms", "soon", "retention.ms is 'soon' but must be a whole number"),
        ("retention.ms", "-2", "at least -1"),
        ("segment.bytes", "100", "at least 16384"),
        ("compression.type", "zstd", "as the producer compressed them"),
        ("flush.messages", "1", "use durability"),
        ("flush.ms", "1000", "use durability"),
        ("preallocate", "true", "must be 'false'"),
        ("segment.jitter.ms", "5", "must be '0'"),
        ("remote.storage.enable", "true", "no tiered storage"),
        ("message.format.version", "3.0", "any more"),
        ("message.downconversion.enable", "true", "any more"),
        ("message.timestamp.difference.max.ms", "1", "message.timestamp.before.max.ms"),
        ("durability", "maybe", "one of fsync, replicated, os"),
        ("cleanup.policy", "", "comma-separated list of delete, compact"),
        ("min.cleanable.dirty.ratio", "1.1", "from 0 to 1"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_a_reason(
    name: str, text: str, reason: str
) -> None:
    with pytest.raises(InvalidConfig, match=reason):
        parse_topic_config({name: text})


def test_a_durability_that_a_single_node_cannot_tell_apart_says_so() -> None:
    assert "on a single node is the same as `os`" in TOPIC_SETTINGS["durability"].doc


def test_compaction_lags_must_not_cross() -> None:
    with pytest.raises(InvalidConfig, match=r"must not exceed max\.compaction\.lag\.ms"):
        parse_topic_config({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"})
