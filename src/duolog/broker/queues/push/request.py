"""Headers of the request that pushes a message. Pure.

A message may come from a Kafka producer, whose keys and headers hold any bytes. A value that an
HTTP header cannot carry unchanged is left out and counted, never cleaned: a line break would let a
producer inject headers, and an altered value is worse than a missing one.
"""

import re
from base64 import b64encode
from collections.abc import Mapping

from duolog.broker.queues.receiving import Received
from duolog.core.queues.message import BINARY, MessageAttribute

VALUE_BYTES_MAX = 4_096
"""Maximum size of one header's value: common servers refuse lines of more than 8 KiB."""
ATTRIBUTES_BYTES_MAX = 16_384
"""Maximum size of all attributes' headers: common servers refuse heads of more than 32 KiB."""

Header = tuple[bytes, bytes]

_ATTRIBUTE = b"X-Duolog-Attribute-"

_is_name = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}").fullmatch
_find_control = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search


def push_headers(queue: str, received: Received) -> list[Header]:
    message = received.message
    headers = [
        (b"Content-Type", b"text/plain; charset=utf-8"),
        (b"X-Duolog-Queue", queue.encode()),
        (b"X-Duolog-Receive-Count", b"%d" % received.receive_count),
        (b"X-Duolog-Sent-Timestamp", b"%d" % message.sent_ms),
    ]
    for name, text in (
        (b"X-Duolog-Message-Id", received.message_id),
        (b"X-Duolog-Message-Group-Id", message.group_id),
    ):
        if text is not None and _is_carried_whole(value := text.encode()):
            headers.append((name, value))
    attributes = _attribute_headers(message.attributes)
    headers += attributes
    if omitted := len(message.attributes) - len(attributes):
        headers.append((b"X-Duolog-Attributes-Omitted", b"%d" % omitted))
    return headers


def _attribute_headers(attributes: Mapping[str, MessageAttribute]) -> list[Header]:
    headers: list[Header] = []
    used: set[bytes] = set()
    room = ATTRIBUTES_BYTES_MAX
    for text, (data_type, value) in attributes.items():
        name = text.encode()
        if data_type.startswith(BINARY):
            value = b64encode(value)
        size = len(_ATTRIBUTE) + len(name) + len(value)
        # Header names are case-insensitive: attributes that differ only in case would merge.
        if name.lower() in used or size > room:
            continue
        if _is_name(name) and _is_carried_whole(value):
            used.add(name.lower())
            room -= size
            headers.append((_ATTRIBUTE + name, value))
    return headers


def _is_carried_whole(value: bytes) -> bool:
    """True if a header carries the value unchanged: short, without control characters, and
    without surrounding space, which servers trim."""
    is_short = len(value) <= VALUE_BYTES_MAX
    return is_short and value == value.strip(b" \t") and not _find_control(value)
