"""Receive buffers grow by what arrives, within a budget that connections share."""

from duolog.kafka_api.receive_buffer import BASE_BYTES, Growable, ReceiveBudget, ReceiveBuffer


class Asker(Growable):
    def __init__(self) -> None:
        self.freed = 0

    def budget_freed(self) -> None:
        self.freed += 1


def fill(buffer: ReceiveBuffer, data: bytes) -> None:
    buffer.view[buffer.end : buffer.end + len(data)] = data
    buffer.end += len(data)


def test_growing_keeps_what_was_received() -> None:
    buffer = ReceiveBuffer(ReceiveBudget(10 * BASE_BYTES))
    fill(buffer, b"x" * BASE_BYTES)
    assert buffer.is_full
    assert buffer.grow(BASE_BYTES + 5, Asker())
    assert not buffer.is_full
    assert bytes(buffer.data[: buffer.end]) == b"x" * BASE_BYTES


def test_a_huge_announcement_only_doubles_the_buffer() -> None:
    buffer = ReceiveBuffer(ReceiveBudget(1 << 40))
    buffer.end = BASE_BYTES
    assert buffer.grow(100 << 20, Asker())
    assert len(buffer.data) == 2 * BASE_BYTES


def test_compacting_moves_the_incomplete_frame_to_the_front() -> None:
    buffer = ReceiveBuffer(ReceiveBudget(0))
    fill(buffer, b"served" + b"rest")
    buffer.start = 6
    buffer.compact()
    assert (buffer.start, buffer.end) == (0, 4)
    assert bytes(buffer.data[:4]) == b"rest"


def test_without_budget_a_connection_waits_until_another_shrinks() -> None:
    budget = ReceiveBudget(BASE_BYTES)
    first, second = ReceiveBuffer(budget), ReceiveBuffer(budget)
    waiting = Asker()
    first.end = second.end = BASE_BYTES
    assert first.grow(10 * BASE_BYTES, Asker())
    assert not second.grow(10 * BASE_BYTES, waiting)
    first.start = first.end
    first.shrink()
    assert waiting.freed == 1
    assert second.grow(10 * BASE_BYTES, waiting)


def test_a_closed_connection_gives_its_bytes_back() -> None:
    budget = ReceiveBudget(BASE_BYTES)
    buffer, asker = ReceiveBuffer(budget), Asker()
    buffer.end = BASE_BYTES
    assert buffer.grow(10 * BASE_BYTES, asker)
    buffer.release(asker)
    assert budget.take(BASE_BYTES, asker)


def test_shrinking_always_leaves_room_to_receive_into() -> None:
    buffer = ReceiveBuffer(ReceiveBudget(10 * BASE_BYTES))
    buffer.end = BASE_BYTES
    assert buffer.grow(4 * BASE_BYTES, Asker())
    buffer.shrink()
    assert not buffer.is_full
