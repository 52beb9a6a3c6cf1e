"""Errors in bytes from the network."""


class MalformedMessage(Exception):
    """Bytes that are not the message they claim to be; only closing the connection is safe.

    Not a Refusal: a frame that cannot be understood cannot be answered either, and what follows it
    on the connection may not be a frame at all.
    """


class MalformedRequest(MalformedMessage):
    """Bytes from a client that are not a valid request."""


class MalformedResponse(MalformedMessage):
    """Bytes from a broker that are not a valid response."""
