"""Kinds of requests between nodes."""

from enum import IntEnum


class PeerKind(IntEnum):
    HELLO = 0
    """The first frame each way: identity of the speaker."""
    CANCEL = 1
    """The caller gives up the request with this correlation. Has no answer."""
    FETCH = 2
    """A follower asks the leader for records."""
    PING = 3
    """Liveness check, answered by the session itself."""
    USAGE_APPEND = 4
    """Usage lines for a partition that the other node leads."""
    CATCH_UP_TOPICS = 5
    """Answered once the other node has applied a revision of the topics."""
    CATCH_UP_QUEUES = 6
    CATCH_UP_NODES = 7
    """Answered once the other node has applied a revision of the registrations."""
    LOG_ENDS = 8
    """Where the other node's logs of some partitions end."""

    QUEUE_SEND = 16
    """First of the kinds by which a front end uses the partitions of a queue that the other node
    leads."""
    QUEUE_ACCEPT = 17
    QUEUE_RECEIVE = 18
    QUEUE_WATCH = 19
    QUEUE_DELETE = 20
    QUEUE_VISIBILITY = 21
    QUEUE_LEVELS = 22
    QUEUE_PURGE = 23
    QUEUE_REPLAY = 24
    QUEUE_LOOK = 25
    QUEUE_FIND = 26
    QUEUE_MOVE = 27
