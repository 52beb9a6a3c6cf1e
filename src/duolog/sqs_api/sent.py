"""What sends have in common, of one message or of ten."""

from duolog.core.queues.message import STRING, Outgoing
from duolog.sqs_api.validation.attributes import TRACE_HEADER
from duolog.wire.sqs.digests import md5_of_attributes

TOGETHER_BYTES_MAX = 512 * 1024
"""Of bodies that are sent together: half of a batch of records, so that they are stored in one
and what becomes of one becomes of all."""


def digests_of(message: Outgoing) -> tuple[str | None, str | None]:
    """Of the attributes, and of the system attributes; None where there are none."""
    trace_header = message.trace_header
    return (
        md5_of_attributes(message.attributes) if message.attributes else None,
        None
        if trace_header is None
        else md5_of_attributes({TRACE_HEADER: (STRING, trace_header.encode())}),
    )
