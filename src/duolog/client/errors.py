"""The two ways in which a node does not do what it was asked: it refuses, or it is not there."""

import os
import socket
from typing import Any

from duolog.wire.kafka.error_codes import ErrorCode

Endpoint = tuple[str, int]
"""Host and port."""


class ClientError(Exception):
    """What was asked was not done, or not known to be done. The text is one sentence."""


class Unreachable(ClientError):
    """Nobody answers, or the connection broke. Whether the last request was done is unknown."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        super().__init__(f"the node at {endpoint_text(endpoint)} {reason}")
        self.endpoint = endpoint


class Garbled(ClientError):
    """The answer is not what it claims to be: damaged, or from something that is no node."""


class Refused(ClientError):
    """The node understood and did not do it."""

    def __init__(self, name: str, subject: str, message: str = "") -> None:
        super().__init__(f"{subject}: {message or name}")
        self.name = name
        """As on the wire: `UNKNOWN_TOPIC_OR_PARTITION`, `QueueDoesNotExist`."""
        self.subject = subject
        """What it was about, for people: `topic 'orders'`."""
        self.message = message
        """The node's own words; may be empty."""


def check(code: Any, subject: str, message: str | None = None) -> None:
    """Raise what an error code of a Kafka answer means, unless it means success."""
    if int(code):
        raise Refused(code_name(code), subject, message or "")


def code_name(code: Any) -> str:
    known = ErrorCode.__members__.values()
    return next((each.name for each in known if each == int(code)), str(code.name).upper())


def reason_of(error: OSError) -> str:
    """What the system says, in a few words; asyncio puts its own in their place."""
    if error.errno is not None and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__


def endpoint_text(endpoint: Endpoint) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
