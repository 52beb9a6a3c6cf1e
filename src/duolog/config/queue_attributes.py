"""Attributes of queues, each declared once: name, default, bounds and meaning.

Attributes of Amazon SQS have its names, bounds and defaults; our own begin with `duolog:`.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from duolog.config.queue_policies import RedriveAllowPolicy, RedrivePolicy
from duolog.config.setting import Kind, Setting
from duolog.config.topic import Durability
from duolog.model.names import FIFO_SUFFIX

DeliveryGuarantee = Literal["at-least-once", "at-most-once"]
DeduplicationScope = Literal["queue", "messageGroup"]
FifoThroughputLimit = Literal["perQueue", "perMessageGroupId"]

EXTENSION_PREFIX = "duolog:"
"""Prefix of attributes that Amazon SQS does not have."""

_KIB = 1024
_DAY_SECONDS = 24 * 3600
RETENTION_SECONDS_MAX = 14 * _DAY_SECONDS
KEY_ID_CHARS_MAX = 2_048


@dataclass(frozen=True, slots=True)
class QueueConfig:
    delay_seconds: int = 0
    maximum_message_size: int = _KIB * _KIB
    """Bytes of body and attributes together."""
    message_retention_seconds: int = 4 * _DAY_SECONDS
    receive_wait_seconds: int = 0
    visibility_timeout_seconds: int = 30
    policy: str = ""
    redrive: RedrivePolicy | None = None
    redrive_allow: RedriveAllowPolicy | None = None
    """Queues that may send dead letters here; None for all."""
    kms_master_key_id: str = ""
    kms_reuse_seconds: int = 300
    sse_enabled: bool = False
    fifo: bool = False
    content_based_deduplication: bool = False
    deduplication_scope: DeduplicationScope = "queue"
    fifo_throughput_limit: FifoThroughputLimit = "perQueue"
    delivery: DeliveryGuarantee = "at-least-once"
    durability: Durability | None = None
    """Durability of the messages; None for the node's default for topics."""
    source_topic: str | None = None
    """Topic whose messages a subscription queue delivers; None if the queue has its own."""
    retain_deleted_seconds: int = 0
    push_endpoint: str | None = None
    push_concurrency: int = 4

    @property
    def is_high_throughput(self) -> bool:
        """True if the message groups of a FIFO queue are spread over several partitions."""
        return self.fifo_throughput_limit == "perMessageGroupId"


_FIELD_DEFAULTS = {field.name: field.default for field in fields(QueueConfig)}


def _attribute(name: str, field: str, kind: Kind, doc: str, **more: Any) -> Setting:
    """An attribute that is stored in a field of QueueConfig, whose default it takes."""
    assert field in _FIELD_DEFAULTS, f"add the field `{field}`, with its default, to QueueConfig"
    default: Any = _FIELD_DEFAULTS[field]
    return Setting(name=name, kind=kind, default=default, doc=doc, field=field, **more)


def _seconds(name: str, field: str, doc: str, *, least: int = 0, most: int) -> Setting:
    return _attribute(name, field, "int", doc, unit="seconds", least=least, most=most)


def _document(name: str, field: str, doc: str) -> Setting:
    return _attribute(name, field, "text", doc, form="a JSON object", optional=True)


_NOT_ENCRYPTED = " Stored and shown only: messages are not encrypted."

_OF_SQS = (
    _seconds(
        "DelaySeconds",
        "delay_seconds",
        "Delay for which a message is hidden after it was sent, unless the message sets its own.",
        most=900,
    ),
    _attribute(
        "MaximumMessageSize",
        "maximum_message_size",
        "int",
        "Largest message that is accepted, body and attributes together.",
        unit="bytes",
        least=_KIB,
        most=_KIB * _KIB,
    ),
    _seconds(
        "MessageRetentionPeriod",
        "message_retention_seconds",
        "Time for which a message that nobody deletes is kept.",
        least=60,
        most=RETENTION_SECONDS_MAX,
    ),
    _seconds(
        "ReceiveMessageWaitTimeSeconds",
        "receive_wait_seconds",
        "Long poll: wait of a receive for messages, unless the receive sets its own.",
        most=20,
    ),
    _seconds(
        "VisibilityTimeout",
        "visibility_timeout_seconds",
        "Visibility timeout: time for which a received message is hidden from other consumers,"
        " unless the receive sets its own.",
        most=12 * 3600,
    ),
    _attribute(
        "Policy",
        "policy",
        "text",
        "AWS access policy of up to 8 KiB, which is stored and shown but not enforced.",
        form="a JSON object, or empty",
    ),
    _document(
        "RedrivePolicy",
        "redrive",
        "Dead-letter queue: `deadLetterTargetArn` gets messages that were received"
        " `maxReceiveCount` times (1 to 1000) without being deleted.",
    ),
    _document(
        "RedriveAllowPolicy",
        "redrive_allow",
        "Queues that may use this one as dead-letter queue: `redrivePermission` is `allowAll`,"
        " `denyAll` or `byQueue`, the last with up to 10 queues in `sourceQueueArns`.",
    ),
    _attribute(
        "KmsMasterKeyId",
        "kms_master_key_id",
        "text",
        "Key for encrypting messages." + _NOT_ENCRYPTED,
        form=f"text of at most {KEY_ID_CHARS_MAX} characters",
        fits=lambda text: len(text) <= KEY_ID_CHARS_MAX,
    ),
    _seconds(
        "KmsDataKeyReusePeriodSeconds",
        "kms_reuse_seconds",
        "Time for which a data key made with that key is used." + _NOT_ENCRYPTED,
        least=60,
        most=_DAY_SECONDS,
    ),
    _attribute(
        "SqsManagedSseEnabled",
        "sse_enabled",
        "bool",
        "Requests encryption with a key of the system's. False by default, unlike in Amazon SQS,"
        " so that nobody is told of an encryption that does not exist." + _NOT_ENCRYPTED,
    ),
    _attribute(
        "FifoQueue",
        "fifo",
        "bool",
        f"Keeps the order of each message group. A queue whose name ends in `{FIFO_SUFFIX}`, and no"
        f" other, must be created with true; this never changes.",
    ),
    _attribute(
        "ContentBasedDeduplication",
        "content_based_deduplication",
        "bool",
        "Uses the SHA-256 of the body as deduplication id of messages without one.",
    ),
    _attribute(
        "DeduplicationScope",
        "deduplication_scope",
        "text",
        "Scope in which a deduplication id is unique: the whole queue, or its message group.",
        choices=("queue", "messageGroup"),
    ),
    _attribute(
        "FifoThroughputLimit",
        "fifo_throughput_limit",
        "text",
        "`perMessageGroupId`, which requires DeduplicationScope `messageGroup`, spreads the"
        " groups over several partitions.",
        choices=("perQueue", "perMessageGroupId"),
    ),
)

_OUR_OWN = (
    _attribute(
        "duolog:Delivery",
        "delivery",
        "text",
        "Delivery guarantee: `at-most-once` deletes a message when it is received, before the"
        " consumer has it.",
        choices=("at-least-once", "at-most-once"),
    ),
    _attribute(
        "duolog:Durability",
        "durability",
        "text",
        "Durability of a send or a delete before it is answered, as in the topic setting"
        " `durability`; empty is the node's default for topics.",
        choices=("fsync", "replicated", "os"),
        optional=True,
    ),
    _attribute(
        "duolog:SourceTopic",
        "source_topic",
        "text",
        "Makes a subscription queue: its messages are those of this existing topic, which any"
        " number of queues share without copying it. Never changes.",
        form="the name of a topic",
        optional=True,
    ),
    _seconds(
        "duolog:RetainDeleted",
        "retain_deleted_seconds",
        "Time for which deleted messages are kept for replay, with the fate of each for audits.",
        most=RETENTION_SECONDS_MAX,
    ),
    _attribute(
        "duolog:PushEndpoint",
        "push_endpoint",
        "text",
        "URL to which messages are pushed by HTTP POST: success deletes a message, failure counts"
        " as a receive. The node's `push.allow` must contain its address.",
        form="an http or https URL without a user or password",
        optional=True,
    ),
    _attribute(
        "duolog:PushConcurrency",
        "push_concurrency",
        "int",
        "Limit of concurrent pushes of this queue.",
        least=1,
        most=100,
    ),
)

QUEUE_ATTRIBUTES: dict[str, Setting] = {
    attribute.name: attribute for attribute in (*_OF_SQS, *_OUR_OWN)
}

SETTABLE_ATTRIBUTES = frozenset(QUEUE_ATTRIBUTES)

READ_ONLY_ATTRIBUTES = frozenset(
    (
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
        "CreatedTimestamp",
        "LastModifiedTimestamp",
        "QueueArn",
    )
)

FIFO_ATTRIBUTES = frozenset(
    ("ContentBasedDeduplication", "DeduplicationScope", "FifoQueue", "FifoThroughputLimit")
)
"""Attributes that a standard queue does not know."""
