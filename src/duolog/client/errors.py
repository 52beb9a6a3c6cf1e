"""Client errors: a node refuses the request, cannot be reached, or answers garbage."""

import os
import socket
from typing import Any

from duolog.wire.kafka.error_codes import ErrorCode

Endpoint = tuple[str, int]
"""Host and port."""


class ClientError(Exception):
    """A request failed, or its outcome is unknown. The text is one sentence."""


class Unreachable(ClientError):
    """No answer, or a broken connection: the outcome of the last request is unknown."""

    def __init__(self, endpoint: Endpoint, reason: str) -> None:
        super().__init__(f"the node at {endpoint_text(endpoint)} {reason}")
        self.endpoint = endpoint


class Garbled(ClientError):
    """The answer cannot be decoded: it is damaged, or the address is not that of a node."""


class Refused(ClientError):
    """The node understood the request and refused it."""

    def __init__(self, name: str, subject: str, message: str = "") -> None:
        super().__init__(f"{subject}: {message or name}")
        self.name = name
        """Error name as on the wire: `UNKNOWN_TOPIC_OR_PARTITION`, `QueueDoesNotExist`."""
        self.subject = subject
        """Subject of the request in words: `topic 'orders'`."""
        self.message = message
        """The node's error message; may be empty."""


def check(code: Any, subject: str, message: str | None = None) -> None:
    """Raises Refused if the error code of a Kafka response is not NONE."""
    if int(code):
        raise Refused(code_name(code), subject, message or "")


def code_name(code: Any) -> str:
    known = ErrorCode.__members__.values()
    return next((each.name for each in known if each == int(code)), str(code.name).upper())


def reason_of(error: OSError) -> str:
    """The system's short text for an errno; asyncio replaces strerror by a longer one."""
    if error.errno is not None and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__


def endpoint_text(endpoint: Endpoint) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
