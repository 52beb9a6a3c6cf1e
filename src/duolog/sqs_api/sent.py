"""Limits and digests shared by SendMessage and SendMessageBatch."""

from duolog.core.queues.message import STRING, Outgoing
from duolog.sqs_api.validation.attributes import TRACE_HEADER
from duolog.wire.sqs.digests import md5_of_attributes

TOGETHER_BYTES_MAX = 512 * 1024
"""Limit of bodies sent together: half of a record batch, so that all fit into one batch and succeed
or fail as one."""


def digests_of(message: Outgoing) -> tuple[str | None, str | None]:
    """MD5 digests of the attributes and of the system attributes; None where there are none."""
    trace_header = message.trace_header
    return (
        md5_of_attributes(message.attributes) if message.attributes else None,
        None
        if trace_header is None
        else md5_of_attributes({TRACE_HEADER: (STRING, trace_header.encode())}),
    )
