"""Frames leave together, and none is left behind."""

from collections.abc import Callable, Sequence

from duolog.ports.transport import Chunk
from duolog.wire.peer.outbox import GATHERED_BYTES_MAX, Outbox


class Wire:
    """A transport that keeps what it was given, and an event loop that takes its turns."""

    def __init__(self) -> None:
        self.writes: list[list[Chunk]] = []
        self.soon: list[Callable[[], None]] = []
        self.outbox = Outbox(self, self.soon.append)  # type: ignore[arg-type]

    def send(self, data: bytes) -> None:
        self.writes.append([data])

    def write(self, chunks: Sequence[Chunk]) -> None:
        self.writes.append(list(chunks))

    def turn(self) -> None:
        due, self.soon[:] = list(self.soon), []
        for call in due:
            call()


def test_frames_of_one_turn_leave_with_one_write() -> None:
    wire = Wire()
    wire.outbox.add([b"a"])
    wire.outbox.add([b"b", b"c"])
    assert wire.writes == []
    wire.turn()
    assert wire.writes == [[b"abc"]]
    wire.outbox.add([b"d"])
    wire.turn()
    wire.turn()
    assert wire.writes == [[b"abc"], [b"d"]]


def test_what_is_large_leaves_at_once_uncopied_and_in_order() -> None:
    wire = Wire()
    large = bytes(GATHERED_BYTES_MAX)
    wire.outbox.add([b"a"])
    wire.outbox.add([b"b", large])
    assert wire.writes == [[b"a", b"b", large]]
    assert wire.writes[0][2] is large
    wire.outbox.add([b"c"])
    wire.turn()
    assert wire.writes[1:] == [[b"c"]]
