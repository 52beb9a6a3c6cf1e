"""The digests with which a send is answered, so that its client sees what has arrived."""

from duolog.core.queues.message import STRING, Outgoing
from duolog.sqs_api.validation.attributes import TRACE_HEADER
from duolog.wire.sqs.digests import md5_of_attributes, md5_of_body


def digests_of(message: Outgoing) -> tuple[str, str | None, str | None]:
    """Of the body, of the attributes, and of the system attributes; None where there are none."""
    trace_header = message.trace_header
    return (
        md5_of_body(message.body.encode()),
        md5_of_attributes(message.attributes) if message.attributes else None,
        None
        if trace_header is None
        else md5_of_attributes({TRACE_HEADER: (STRING, trace_header.encode())}),
    )
