"""What can be wrong with bytes from the network."""


class MalformedMessage(Exception):
    """Bytes that are not the message they claim to be; only closing the connection is safe.

    Not a Refusal: a frame that cannot be understood cannot be answered either, and what
    follows it on the connection may not be a frame at all.
    """


class MalformedRequest(MalformedMessage):
    """A client sent what is no request."""


class MalformedResponse(MalformedMessage):
    """A broker answered with what is no response."""
