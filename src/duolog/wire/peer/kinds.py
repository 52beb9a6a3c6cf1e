"""What one node can ask another."""

from enum import IntEnum


class PeerKind(IntEnum):
    HELLO = 0
    """The first frame each way: who speaks."""
    CANCEL = 1
    """The request with this correlation is given up by its caller. Has no answer."""
    FETCH = 2
    """A follower asks the leader for records."""
    PING = 3
    """Is anybody there? Answered by the session itself."""
    USAGE_APPEND = 4
    """Usage lines for a partition that the other node leads."""
    CATCH_UP_TOPICS = 5
    """Answered once the other node has acted upon a revision of the topics."""
    CATCH_UP_QUEUES = 6

    QUEUE_SEND = 16
    """From here on: a front end asks for what the other node leads of a queue."""
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
