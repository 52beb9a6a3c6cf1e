"""Receive request attempts: repeats of a FIFO receive whose answer was lost.

An attempt id stands for its messages while all of them are in flight under that very delivery, for
five minutes at most, as in SQS.
"""

from msgspec.structs import replace

from duolog.core.queues.held import Held
from duolog.records.delivery_image import Image

ATTEMPT_MS = 300_000


class Attempts:
    __slots__ = ("_receives",)

    def __init__(self) -> None:
        self._receives: dict[bytes, tuple[int, tuple[int, ...]]] = {}
        """Attempt id → receive time and offsets; never more entries than messages in flight."""

    def note(self, attempt: bytes, received_ms: int, offsets: tuple[int, ...]) -> None:
        self._receives[attempt] = (received_ms, offsets)

    def find(self, attempt: bytes, now_ms: int) -> tuple[int, ...] | None:
        received_ms, offsets = self._receives.get(attempt, (0, ()))
        return offsets if offsets and now_ms < received_ms + ATTEMPT_MS else None

    def void(self, attempt: bytes, offset: int) -> None:
        """Forgets the attempt, because one of its messages was settled, returned, or received
        again."""
        receive = self._receives.get(attempt)
        # The id may have been reused since, for other messages.
        if receive is not None and offset in receive[1]:
            del self._receives[attempt]

    def save(self, image: Image) -> None:
        image.attempts = sorted((name, *receive) for name, receive in self._receives.items())

    def load(self, image: Image, held: dict[int, Held]) -> None:
        for attempt, received_ms, offsets in image.attempts:
            self.note(attempt, received_ms, offsets)
            for offset in offsets:
                held[offset] = replace(held[offset], attempt=attempt)
