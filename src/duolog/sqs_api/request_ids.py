"""Request ids, which answers carry so that a client can refer to a request."""

import uuid
from itertools import count, islice

_COUNTER_CHARS = 12
_FIRST = 10 ** (_COUNTER_CHARS - 1)
"""Smallest number with as many digits as the counter has characters."""


class RequestIds:
    def __init__(self, first: uuid.UUID) -> None:
        """`first` distinguishes these ids from those of other nodes and other starts."""
        self._prefix = str(first)[:-_COUNTER_CHARS].encode()
        self._numbers = count(_FIRST)
        self._next = self._numbers.__next__

    def next(self) -> bytes:
        """A new id, shaped as a UUID. Counted, because a random one costs as much as a small
        request."""
        return b"%b%d" % (self._prefix, self._next())

    def take(self, count: int) -> list[bytes]:
        """The next `count` ids."""
        prefix = self._prefix
        return [b"%b%d" % (prefix, number) for number in islice(self._numbers, count)]
