"""Settings of a node, in the order of the reference page."""

import re
from dataclasses import replace

from duolog.config.address import Address
from duolog.config.cluster import CLUSTER_SETTINGS
from duolog.config.credential import is_credential
from duolog.config.declaring import count, in_bytes, in_ms, in_seconds, setting
from duolog.config.push_target import is_push_target
from duolog.config.setting import Setting
from duolog.config.topic import TOPIC_SETTINGS
from duolog.model.limits import PARTITIONS_PER_TOPIC_MAX

KIB = 1024
MIB = 1024 * KIB


TOPIC_PREFIX = "topic."
"""Prefix that makes a topic setting's name the node's default for topics that do not set it."""


def _is_account_id(text: str) -> bool:
    return re.fullmatch(r"[0-9]{12}", text) is not None


def _is_region(text: str) -> bool:
    return re.fullmatch(r"[a-z0-9-]{1,64}", text) is not None


NODE_GROUPS: dict[str, tuple[Setting, ...]] = {
    "Node": (
        setting("data.dir", "path", "./duolog-data", "Where everything is stored."),
        setting(
            "pipelines.dir",
            "text",
            "",
            "Where `duolog pipeline` keeps what it makes, and metrics look how its runs went; if"
            " empty, the folder `pipelines` of data.dir.",
        ),
        count("node.id", 1, "This node's number among the brokers.", least=0),
        setting("node.rack", "text", "", "Rack or zone that clients are told; may be empty."),
        setting(
            "log.level",
            "text",
            "info",
            "Least severe event that is logged.",
            choices=("debug", "info", "warning", "error"),
        ),
        setting(
            "log.format",
            "text",
            "auto",
            "`auto` is text on a terminal and JSON elsewhere.",
            choices=("auto", "text", "json"),
        ),
    ),
    "Doors": (
        setting(
            "kafka.listen",
            "address",
            Address("127.0.0.1", 9092),
            "Where Kafka clients connect. Port 0 takes a free one.",
        ),
        setting(
            "kafka.advertised",
            "address",
            None,
            "Address that Kafka clients are told to use; empty is `kafka.listen`, and port 0 is"
            " its port. Needed when `kafka.listen` is a wildcard.",
            optional=True,
        ),
        setting(
            "sqs.listen",
            "address",
            Address("127.0.0.1", 9324),
            "Where SQS clients connect, over HTTP. Port 0 takes a free one.",
        ),
        setting(
            "admin.listen",
            "address",
            Address("127.0.0.1", 9325),
            "Where health, metrics and usage are served, to everybody who can connect. Queues and"
            " their messages are shown and replayed there, too, but only to programs on this"
            " machine: none of it is signed.",
        ),
    ),
    "Cluster": CLUSTER_SETTINGS,
    "Topics": (
        count(
            "num.partitions",
            1,
            "Partitions of a topic that does not say how many.",
            most=PARTITIONS_PER_TOPIC_MAX,
        ),
        setting(
            "auto.create.topics.enable",
            "bool",
            True,
            "Whether a topic is made when a client that allows it first asks for it.",
        ),
        setting("delete.topic.enable", "bool", True, "Whether topics may be deleted."),
    ),
    "Queues": (
        setting(
            "sqs.account.id",
            "text",
            "000000000000",
            "Account in the URLs and ARNs of queues.",
            form="twelve digits",
            fits=_is_account_id,
        ),
        setting(
            "sqs.region",
            "text",
            "us-east-1",
            "Region in the ARNs of queues; clients sign their requests for it.",
            form="lower-case letters, digits and hyphens",
            fits=_is_region,
        ),
        setting(
            "sqs.credentials",
            "list",
            (),
            "Access keys of SQS clients and their secrets. When empty, every signature is accepted"
            " and clients must be on this machine and ask for localhost or a loopback address."
            " Better given by the environment or a file than by a flag, which others can see.",
            form="KEY:SECRET pairs",
            fits=is_credential,
            secret=True,
        ),
        in_seconds(
            "sqs.deleted.queue.seconds",
            60,
            "How long after a queue was deleted none of its name can be created.",
        ),
        in_seconds("sqs.purge.interval.seconds", 60, "How long between two purges of a queue."),
        count(
            "queue.partitions",
            1,
            "Partitions of a new standard queue.",
            most=PARTITIONS_PER_TOPIC_MAX,
        ),
        count(
            "queue.fifo.partitions",
            4,
            "Partitions of a new high-throughput FIFO queue; any other FIFO queue has one.",
            most=PARTITIONS_PER_TOPIC_MAX,
        ),
        setting(
            "push.allow",
            "list",
            (),
            "Where queues may push messages to; everywhere else is refused, so that nobody makes"
            " this node send requests into a network that they cannot reach themselves. Without a"
            " port, every port. A network such as 10.0.0.0/8 allows the addresses in it, and host"
            " names that resolve to them.",
            form="host, host:port, network or network:port",
            fits=is_push_target,
        ),
        setting(
            "push.timeout.ms",
            "int",
            30_000,
            "How long the endpoint of a queue may take to answer a push.",
            unit="ms",
            least=1,
            most=15 * 60_000,
        ),
        count("push.requests.max", 256, "Most pushes under way at once, of all queues together."),
    ),
    "Metering": (
        in_seconds(
            "usage.interval.seconds",
            5,
            "How often at most what was used is written to the topic `__usage`, a line for each"
            " queue or topic and operation; 0 meters nothing.",
        ),
        count(
            "usage.topic.num.partitions",
            1,
            "Partitions of the topic `__usage`; a node writes to one of them.",
            most=1_000,
        ),
    ),
    "Connections": (
        in_bytes(
            "request.bytes.max",
            100 * MIB,
            "Largest request frame; a larger one closes the connection.",
            least=KIB,
        ),
        in_bytes(
            "receive.buffer.bytes.total.max",
            256 * MIB,
            "Most memory for requests that are still arriving, over all connections.",
            least=MIB,
        ),
        in_bytes(
            "response.backlog.bytes.max",
            64 * MIB,
            "Most bytes that wait for one client to read them; past it, its requests wait.",
            least=KIB,
        ),
        in_bytes(
            "fetch.bytes.max",
            55 * MIB,
            "Most bytes that one Fetch is answered with.",
            least=KIB,
        ),
        count("fetch.sessions.max", 1000, "Most incremental fetch sessions.", least=0),
        in_bytes(
            "decompressed.bytes.max",
            64 * MIB,
            "Largest size that a batch may have once decompressed, where it has to be opened.",
            least=KIB,
        ),
        count("connections.max", 10_000, "Most connections of each door."),
        in_ms("connection.idle.ms.max", 600_000, "Silence after which a connection is closed."),
        in_ms("frame.receive.ms.max", 120_000, "Longest time that one request may take to arrive."),
    ),
    "Log": (
        in_ms(
            "log.checkpoint.interval.ms",
            5_000,
            "How often at least it is noted how far the logs are durable, and after 64 MiB"
            " anyhow; recovery scans what is after.",
        ),
        in_ms("log.retention.check.interval.ms", 300_000, "How often retention is applied."),
        in_ms(
            "log.cleaner.interval.ms",
            15_000,
            "How often logs are looked at for compaction and thinning.",
        ),
        in_bytes(
            "log.scrub.bytes.per.second",
            8 * MIB,
            "How fast stored batches are read again to find damage; 0 does not.",
            least=0,
        ),
        setting(
            "log.scrub.interval.ms",
            "long",
            7 * 24 * 3600 * 1000,
            "Pause between two passes over everything that is stored.",
            unit="ms",
            least=1,
        ),
        in_ms(
            "producer.id.expiration.ms",
            86_400_000,
            "Silence after which an idempotent producer's sequence numbers are forgotten.",
        ),
    ),
    "Consumer groups": (
        count(
            "offsets.topic.num.partitions",
            8,
            "Partitions of the topic that holds committed offsets; fixed once it exists.",
            most=1_000,
        ),
        setting(
            "offsets.retention.minutes",
            "int",
            10_080,
            "How long an empty group's committed offsets are kept.",
            unit="minutes",
            least=1,
        ),
        in_ms(
            "offsets.retention.check.interval.ms",
            600_000,
            "How often expired offsets are looked for.",
        ),
        in_ms("group.min.session.timeout.ms", 6_000, "Shortest session time-out of a member."),
        in_ms("group.max.session.timeout.ms", 1_800_000, "Longest session time-out of a member."),
        in_ms(
            "group.initial.rebalance.delay.ms",
            100,
            "How long a new group waits for more members before its first assignment.",
            least=0,
        ),
        count("group.max.size", 10_000, "Most members of a group."),
    ),
    "Defaults of topics": tuple(
        replace(declared, name=TOPIC_PREFIX + name) for name, declared in TOPIC_SETTINGS.items()
    ),
}

NODE_SETTINGS: dict[str, Setting] = {
    declared.name: declared for group in NODE_GROUPS.values() for declared in group
}
