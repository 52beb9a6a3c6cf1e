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
        setting(
            "data.dir", "path", "./duolog-data", "Directory in which the node stores everything."
        ),
        setting(
            "pipelines.dir",
            "text",
            "",
            "Directory in which `duolog pipeline` keeps its tables and the state of its runs,"
            " which metrics show; empty is the folder `pipelines` of data.dir.",
        ),
        count("node.id", 1, "Number of this node, unique in the cluster.", least=0),
        setting(
            "node.rack",
            "text",
            "",
            "Rack or zone of this node, for placing replicas and for clients; may be empty.",
        ),
        setting(
            "log.level",
            "text",
            "info",
            "Lowest level of events that are logged.",
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
            "Address on which Kafka clients connect. Port 0 takes a free one.",
        ),
        setting(
            "kafka.advertised",
            "address",
            None,
            "Address advertised to Kafka clients; empty is `kafka.listen`, and port 0 is its"
            " port. Required if `kafka.listen` is a wildcard.",
            optional=True,
        ),
        setting(
            "sqs.listen",
            "address",
            Address("127.0.0.1", 9324),
            "Address on which SQS clients connect, over HTTP. Port 0 takes a free one.",
        ),
        setting(
            "admin.listen",
            "address",
            Address("127.0.0.1", 9325),
            "Address of health, metrics and usage, for everybody who can connect. Queues and"
            " their messages are shown and replayed there, too, but only for programs on this"
            " machine, since its requests are not signed.",
        ),
    ),
    "Cluster": CLUSTER_SETTINGS,
    "Topics": (
        count(
            "num.partitions",
            1,
            "Partitions of a topic that does not set its own number.",
            most=PARTITIONS_PER_TOPIC_MAX,
        ),
        setting(
            "auto.create.topics.enable",
            "bool",
            True,
            "Creates a topic when a client that allows it first asks for it.",
        ),
        setting("delete.topic.enable", "bool", True, "Allows topics to be deleted."),
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
            "Access keys of SQS clients and their secrets. If empty, every signature is accepted,"
            " but only from clients on this machine that address localhost or a loopback address."
            " Set it in the environment or a file rather than by a flag, which other users can"
            " see.",
            form="KEY:SECRET pairs",
            fits=is_credential,
            secret=True,
        ),
        in_seconds(
            "sqs.deleted.queue.seconds",
            60,
            "Time after a queue's deletion during which its name cannot be used again.",
        ),
        in_seconds(
            "sqs.purge.interval.seconds", 60, "Shortest time between two purges of a queue."
        ),
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
            "Endpoints to which queues may push messages; all others are refused, so that nobody"
            " can use this node to reach into a network that is closed to them. An entry without a"
            " port allows every port. A network such as 10.0.0.0/8 allows the addresses in it, and"
            " host names that resolve to them.",
            form="host, host:port, network or network:port",
            fits=is_push_target,
        ),
        setting(
            "push.timeout.ms",
            "int",
            30_000,
            "Longest time that an endpoint may take to answer a push.",
            unit="ms",
            least=1,
            most=15 * 60_000,
        ),
        count("push.requests.max", 256, "Limit of concurrent pushes, over all queues."),
    ),
    "Metering": (
        in_seconds(
            "usage.interval.seconds",
            5,
            "Shortest interval at which usage is written to the topic `__usage`, as one line for"
            " each queue or topic and operation; 0 disables metering.",
        ),
        count(
            "usage.topic.num.partitions",
            1,
            "Partitions of the topic `__usage`; each node writes to one of them.",
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
            "Limit of memory for requests that are still arriving, over all connections.",
            least=MIB,
        ),
        in_bytes(
            "response.backlog.bytes.max",
            64 * MIB,
            "Limit of unread response bytes per client; beyond it, the client's requests wait.",
            least=KIB,
        ),
        in_bytes(
            "fetch.bytes.max",
            55 * MIB,
            "Limit of bytes in the answer to one Fetch.",
            least=KIB,
        ),
        count("fetch.sessions.max", 1000, "Limit of incremental fetch sessions.", least=0),
        in_bytes(
            "decompressed.bytes.max",
            64 * MIB,
            "Limit of a batch's decompressed size, if it has to be opened.",
            least=KIB,
        ),
        count("connections.max", 10_000, "Limit of connections at each door."),
        in_ms("connection.idle.ms.max", 600_000, "Idle time after which a connection is closed."),
        in_ms("frame.receive.ms.max", 120_000, "Longest time that one request may take to arrive."),
    ),
    "Log": (
        setting(
            "log.reserve.bytes",
            "long",
            64 * MIB,
            "Room in the data directory that is kept for a full disk: receiving, deleting and"
            " committing offsets go on in it, while new messages are refused until twice as much"
            " is free.",
            unit="bytes",
            least=MIB,
            most=64 * 1024 * MIB,
        ),
        in_ms(
            "log.checkpoint.interval.ms",
            5_000,
            "Longest interval between checkpoints of how far the logs are durable, also made"
            " after 64 MiB; recovery scans only what follows the last one.",
        ),
        in_ms(
            "log.retention.check.interval.ms", 300_000, "Interval at which retention is applied."
        ),
        in_ms(
            "log.cleaner.interval.ms",
            15_000,
            "Interval at which logs are checked for compaction and thinning.",
        ),
        in_bytes(
            "log.scrub.bytes.per.second",
            8 * MIB,
            "Rate at which stored batches are read again to find damage; 0 disables it.",
            least=0,
        ),
        setting(
            "log.scrub.interval.ms",
            "long",
            7 * 24 * 3600 * 1000,
            "Pause between two passes of that search over all stored batches.",
            unit="ms",
            least=1,
        ),
        in_ms(
            "producer.id.expiration.ms",
            86_400_000,
            "Idle time after which an idempotent producer's sequence numbers are forgotten.",
        ),
    ),
    "Consumer groups": (
        count(
            "offsets.topic.num.partitions",
            8,
            "Partitions of the topic that holds committed offsets; fixed once the topic exists.",
            most=1_000,
        ),
        setting(
            "offsets.retention.minutes",
            "int",
            10_080,
            "Time for which an empty group's committed offsets are kept.",
            unit="minutes",
            least=1,
        ),
        in_ms(
            "offsets.retention.check.interval.ms",
            600_000,
            "Interval at which expired offsets are removed.",
        ),
        in_ms("group.min.session.timeout.ms", 6_000, "Shortest session time-out of a member."),
        in_ms("group.max.session.timeout.ms", 1_800_000, "Longest session time-out of a member."),
        in_ms(
            "group.initial.rebalance.delay.ms",
            100,
            "Wait of a new group for more members before its first assignment.",
            least=0,
        ),
        count("group.max.size", 10_000, "Limit of members in a group."),
    ),
    "Defaults of topics": tuple(
        replace(declared, name=TOPIC_PREFIX + name) for name, declared in TOPIC_SETTINGS.items()
    ),
}

NODE_SETTINGS: dict[str, Setting] = {
    declared.name: declared for group in NODE_GROUPS.values() for declared in group
}
