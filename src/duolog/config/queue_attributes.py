"""Every attribute of a queue, declared once: its name, default, bounds and meaning.

Those of Amazon SQS have its names, bounds and defaults; our own begin with `duolog:`.
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
"""Before the names of attributes that Amazon SQS does not have."""

_KIB = 1024
_DAY_SECONDS = 24 * 3600
RETENTION_SECONDS_MAX = 14 * _DAY_SECONDS
KEY_ID_CHARS_MAX = 2_048


@dataclass(frozen=True, slots=True)
class QueueConfig:
    delay_seconds: int = 0
    maximum_message_size: int = _KIB * _KIB
    """In bytes, of the body and the attributes together."""
    message_retention_seconds: int = 4 * _DAY_SECONDS
    receive_wait_seconds: int = 0
    visibility_timeout_seconds: int = 30
    policy: str = ""
    redrive: RedrivePolicy | None = None
    redrive_allow: RedriveAllowPolicy | None = None
    """None allows every queue."""
    kms_master_key_id: str = ""
    kms_reuse_seconds: int = 300
    sse_enabled: bool = False
    fifo: bool = False
    content_based_deduplication: bool = False
    deduplication_scope: DeduplicationScope = "queue"
    fifo_throughput_limit: FifoThroughputLimit = "perQueue"
    delivery: DeliveryGuarantee = "at-least-once"
    durability: Durability | None = None
    """None is what the node has for topics."""
    source_topic: str | None = None
    """The topic whose messages these are; None where the queue has its own."""
    retain_deleted_seconds: int = 0
    push_endpoint: str | None = None
    push_concurrency: int = 4

    @property
    def is_high_throughput(self) -> bool:
        """Whether the message groups of a FIFO queue are spread over several partitions."""
        return self.fifo_throughput_limit == "perMessageGroupId"


_FIELD_DEFAULTS = {field.name: field.default for field in fields(QueueConfig)}


def _attribute(name: str, field: str, kind: Kind, doc: str, **more: Any) -> Setting:
    """An attribute that a field of QueueConfig holds, and whose default is that field's."""
    assert field in _FIELD_DEFAULTS, f"add the field `{field}`, with its default, to QueueConfig"
    default: Any = _FIELD_DEFAULTS[field]
    return Setting(name=name, kind=kind, default=default, doc=doc, field=field, **more)


def _seconds(name: str, field: str, doc: str, *, least: int = 0, most: int) -> Setting:
    return _attribute(name, field, "int", doc, unit="seconds", least=least, most=most)


def _document(name: str, field: str, doc: str) -> Setting:
    return _attribute(name, field, "text", doc, form="a JSON object", optional=True)


_NOT_ENCRYPTED = " Kept and shown only: what is stored is not encrypted."

_OF_SQS = (
    _seconds(
        "DelaySeconds",
        "delay_seconds",
        "How long a message is hidden after it was sent, unless it says so itself.",
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
        "How long a message that nobody deletes is kept.",
        least=60,
        most=RETENTION_SECONDS_MAX,
    ),
    _seconds(
        "ReceiveMessageWaitTimeSeconds",
        "receive_wait_seconds",
        "How long a receive that does not say so itself waits for a message.",
        most=20,
    ),
    _seconds(
        "VisibilityTimeout",
        "visibility_timeout_seconds",
        "How long a received message is hidden from others, unless the receive says so itself.",
        most=12 * 3600,
    ),
    _attribute(
        "Policy",
        "policy",
        "text",
        "An AWS policy of up to 8 KiB, which is kept and shown; nobody is refused anything by it.",
        form="a JSON object, or empty",
    ),
    _document(
        "RedrivePolicy",
        "redrive",
        "`deadLetterTargetArn` is where a message goes that was received `maxReceiveCount` times"
        " (1 to 1000) without being deleted.",
    ),
    _document(
        "RedriveAllowPolicy",
        "redrive_allow",
        "`redrivePermission` is `allowAll`, `denyAll` or `byQueue`: which queues may send their"
        " dead letters here; for the last, up to 10 in `sourceQueueArns`.",
    ),
    _attribute(
        "KmsMasterKeyId",
        "kms_master_key_id",
        "text",
        "The key that messages are to be encrypted with." + _NOT_ENCRYPTED,
        form=f"text of at most {KEY_ID_CHARS_MAX} characters",
        fits=lambda text: len(text) <= KEY_ID_CHARS_MAX,
    ),
    _seconds(
        "KmsDataKeyReusePeriodSeconds",
        "kms_reuse_seconds",
        "How long a data key made with that key is used." + _NOT_ENCRYPTED,
        least=60,
        most=_DAY_SECONDS,
    ),
    _attribute(
        "SqsManagedSseEnabled",
        "sse_enabled",
        "bool",
        "Whether messages are to be encrypted with a key of the system's. False unless asked for,"
        " unlike in Amazon SQS, so that nobody is told of an encryption that is not there."
        + _NOT_ENCRYPTED,
    ),
    _attribute(
        "FifoQueue",
        "fifo",
        "bool",
        f"Whether the queue keeps the order of each message group. A queue whose name ends in"
        f" `{FIFO_SUFFIX}`, and no other, must be made with true; this never changes.",
    ),
    _attribute(
        "ContentBasedDeduplication",
        "content_based_deduplication",
        "bool",
        "Whether a message without a deduplication id is known by the SHA-256 of its body.",
    ),
    _attribute(
        "DeduplicationScope",
        "deduplication_scope",
        "text",
        "Whether a deduplication id is known in the whole queue or in a message group.",
        choices=("queue", "messageGroup"),
    ),
    _attribute(
        "FifoThroughputLimit",
        "fifo_throughput_limit",
        "text",
        "`perMessageGroupId`, which needs DeduplicationScope `messageGroup`, spreads the groups"
        " over several partitions.",
        choices=("perQueue", "perMessageGroupId"),
    ),
)

_OUR_OWN = (
    _attribute(
        "duolog:Delivery",
        "delivery",
        "text",
        "`at-most-once` deletes a message when it is received, before the consumer has it.",
        choices=("at-least-once", "at-most-once"),
    ),
    _attribute(
        "duolog:Durability",
        "durability",
        "text",
        "When a send or a delete is answered, as the topic setting `durability`; empty is what"
        " the node has for topics.",
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
        "How long deleted messages are kept, so that they can be replayed, and with them what"
        " became of each, so that an audit sees it.",
        most=RETENTION_SECONDS_MAX,
    ),
    _attribute(
        "duolog:PushEndpoint",
        "push_endpoint",
        "text",
        "Where messages are delivered by HTTP POST instead of being waited for: success deletes"
        " a message, failure counts as a receive. The node's `push.allow` must have its address.",
        form="an http or https URL without a user or password",
        optional=True,
    ),
    _attribute(
        "duolog:PushConcurrency",
        "push_concurrency",
        "int",
        "Most POSTs of this queue that are under way at once.",
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
"""Unknown to a standard queue."""
