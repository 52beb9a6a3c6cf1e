"""One number that decides everything that a run leaves to chance."""

import uuid
import zlib
from collections.abc import Callable
from random import Random


class Seed:
    """Gives each concern a Random of its own, so that one more draw for one concern changes no
    other."""

    def __init__(self, number: int) -> None:
        self.number = number

    def random(self, concern: str) -> Random:
        # Not hash(): the hash of a text differs from process to process.
        return Random(self.number << 32 | zlib.crc32(concern.encode()))

    def new_id(self, concern: str) -> Callable[[], uuid.UUID]:
        random = self.random(concern)
        return lambda: uuid.UUID(int=random.getrandbits(128), version=4)
