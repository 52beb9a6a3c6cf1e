"""Converts a queue's attributes, which are texts, to its configuration and back.

An attribute that may be empty is unset by an empty text. Pure; refusals use Amazon SQS's own texts
where it has one.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from duolog.config.queue_attributes import (
    EXTENSION_PREFIX,
    FIFO_ATTRIBUTES,
    QUEUE_ATTRIBUTES,
    READ_ONLY_ATTRIBUTES,
    SETTABLE_ATTRIBUTES,
    QueueConfig,
)
from duolog.config.queue_policies import (
    RedriveAllowPolicy,
    RedrivePolicy,
    parse_access_policy,
    parse_redrive_allow_policy,
    parse_redrive_policy,
    unfit_redrive,
)
from duolog.config.setting import Setting
from duolog.model.errors import InvalidTopic
from duolog.model.names import (
    FIFO_NAME_RULE,
    FIFO_SUFFIX,
    STANDARD_NAME_RULE,
    check_topic_name,
    is_fifo,
    is_internal,
)
from duolog.model.queue_errors import (
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
)

__all__ = [
    "EXTENSION_PREFIX",
    "READ_ONLY_ATTRIBUTES",
    "SETTABLE_ATTRIBUTES",
    "QueueConfig",
    "RedriveAllowPolicy",
    "RedrivePolicy",
    "attribute_texts",
    "canonical_attributes",
    "changed_attributes",
    "differing_attribute",
    "parse_queue_config",
]

URL_CHARS_MAX = 2_048

_SOURCE_TOPIC = "duolog:SourceTopic"
_PUSH_ENDPOINT = "duolog:PushEndpoint"


def parse_queue_config(name: str, attributes: Mapping[str, str]) -> QueueConfig:
    """The configuration of a queue with this name and these attributes."""
    values: dict[str, Any] = {}
    for attribute, text in attributes.items():
        if attribute in FIFO_ATTRIBUTES and not is_fifo(name):
            raise _not_for_standard(attribute, text)
        values[_declared(attribute).field] = _parse(attribute, text)
    config = QueueConfig(**values)
    _check_kind(name, config, attributes)
    _check_encryption(config)
    if config.redrive is not None:
        _check_redrive(name, config.redrive)
    return config


def canonical_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes, each in its canonical text; without unset ones."""
    texts = {name: _text(_parse(name, text)) for name, text in attributes.items()}
    return {name: text for name, text in texts.items() if text}


def changed_attributes(present: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a queue after SetQueueAttributes, which are still to be parsed together."""
    for name, text in changes.items():
        value = _text(_parse(name, text))
        if name == "FifoQueue" and value != present.get(name):
            if name not in present:
                raise _unknown(name)
            raise _unfit(name, "Modifying queue type is not supported.")
        if name == _SOURCE_TOPIC and value != present.get(name, ""):
            raise _unfit(name, "The source of a queue cannot be changed.")
    kept = dict(present)
    if changes.get("KmsMasterKeyId"):
        # As in SQS, a key of the customer's replaces the system's.
        kept.pop("SqsManagedSseEnabled", None)
    return canonical_attributes({**kept, **changes})


def differing_attribute(config: QueueConfig, attributes: Mapping[str, str]) -> str | None:
    """Name of the first attribute whose value differs from the configuration; None if none does."""
    for name, text in attributes.items():
        if _parse(name, text) != getattr(config, _declared(name).field):
            return name
    return None


def attribute_texts(config: QueueConfig) -> dict[str, str]:
    """Every attribute that the queue has, with its value, as GetQueueAttributes shows it."""
    texts = {
        name: _text(getattr(config, attribute.field))
        for name, attribute in QUEUE_ATTRIBUTES.items()
        if config.fifo or name not in FIFO_ATTRIBUTES
    }
    if not config.kms_master_key_id:
        del texts["KmsDataKeyReusePeriodSeconds"]
    return {name: text for name, text in texts.items() if text}


def _declared(name: str) -> Setting:
    attribute = QUEUE_ATTRIBUTES.get(name)
    if attribute is None:
        raise _unknown(name)
    return attribute


def _parse(name: str, text: str) -> Any:
    attribute = _declared(name)
    if attribute.default_text == "" == text:
        return attribute.default
    if parse := _PARSERS.get(name):
        return parse(text)
    # Unlike settings, which people type, attributes come from programs: no space around is meant.
    if text != text.strip():
        raise _unfit(name)
    try:
        return attribute.parse(text)
    except ValueError:
        raise _unfit(name) from None


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _source_topic(text: str) -> str:
    try:
        check_topic_name(text)
    except InvalidTopic as problem:
        raise _unfit(_SOURCE_TOPIC, f"{problem}.") from None
    if is_internal(text):
        raise _unfit(_SOURCE_TOPIC, f"'{text}' is internal.")
    return text


def _push_endpoint(text: str) -> str:
    # A URL is sent as it is, in the head of a request: no character may end its line.
    is_plain = text.isascii() and text.isprintable() and " " not in text
    try:
        url = urlsplit(text)
        is_address = bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        is_address = False
    if not is_plain or not is_address or url.scheme not in ("http", "https"):
        raise _unfit(_PUSH_ENDPOINT)
    if url.username is not None or url.fragment or len(text) > URL_CHARS_MAX:
        raise _unfit(_PUSH_ENDPOINT)
    return text


_PARSERS: dict[str, Callable[[str], Any]] = {
    "Policy": parse_access_policy,
    "RedrivePolicy": parse_redrive_policy,
    "RedriveAllowPolicy": parse_redrive_allow_policy,
    _SOURCE_TOPIC: _source_topic,
    _PUSH_ENDPOINT: _push_endpoint,
}


def _check_kind(name: str, config: QueueConfig, attributes: Mapping[str, str]) -> None:
    if is_fifo(name) and "FifoQueue" not in attributes:
        raise InvalidParameterValue(STANDARD_NAME_RULE)
    if is_fifo(name) and not config.fifo:
        raise _unfit("FifoQueue", f"The name of a FIFO queue, and no other, ends in {FIFO_SUFFIX}.")
    if config.is_high_throughput and config.deduplication_scope != "messageGroup":
        raise _unfit(
            "FifoThroughputLimit",
            "The perMessageGroupId value is allowed only when the value for DeduplicationScope is"
            " messageGroup.",
        )


def _check_encryption(config: QueueConfig) -> None:
    if config.kms_master_key_id and config.sse_enabled:
        raise InvalidAttributeName(
            "You can use one type of server-side encryption (SSE) at one time."
            " You can either enable KMS SSE or SQS SSE."
        )


def _check_redrive(name: str, redrive: RedrivePolicy) -> None:
    if redrive.dead_letter_queue == name:
        raise unfit_redrive(str(redrive), "A queue cannot be its own dead-letter queue.")
    if is_fifo(redrive.dead_letter_queue) != is_fifo(name):
        raise unfit_redrive(
            str(redrive), "Dead-letter target must be same type of queue as the source."
        )


def _not_for_standard(attribute: str, text: str) -> InvalidAttributeName | InvalidParameterValue:
    if attribute == "FifoQueue" and text.lower() == "true":
        return InvalidParameterValue(FIFO_NAME_RULE)
    return _unknown(attribute)


def _unknown(name: str) -> InvalidAttributeName:
    return InvalidAttributeName(f"Unknown Attribute {name}.")


def _unfit(name: str, reason: str = "") -> InvalidAttributeValue:
    text = f"Invalid value for the parameter {name}."
    return InvalidAttributeValue(f"{text} Reason: {reason}" if reason else text)
