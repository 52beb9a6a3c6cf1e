"""Frames survive being cut anywhere, and what is no frame is refused before it costs memory."""

import contextlib
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.wire.peer.frames import (
    FRAME_BYTES_MAX,
    HEADER_BYTES,
    OK,
    REFUSED,
    Frame,
    MalformedFrame,
    encode_frame,
    frame_chunks,
)
from duolog.wire.peer.receiving import BUFFER_BYTES, HELLO_BYTES_MAX, FrameReceiver

correlations = st.integers(0, (1 << 64) - 1)
shorts = st.integers(0, (1 << 16) - 1)
bodies = st.one_of(
    st.binary(max_size=100),
    st.integers(0, 3 * BUFFER_BYTES).map(lambda size: bytes(i % 251 for i in range(size))),
)


def fed(receiver: FrameReceiver, data: bytes, step: int) -> list[Frame]:
    """The frames that come out of these bytes when they arrive in pieces of this size."""
    found = []
    position = 0
    while position < len(data):
        buffer = receiver.get_buffer()
        assert len(buffer), "there is always room after the frames were taken"
        count = min(step, len(buffer), len(data) - position)
        buffer[:count] = data[position : position + count]
        receiver.received(count)
        position += count
        while (frame := receiver.next_frame()) is not None:
            found.append(frame)
    return found


def trusted() -> FrameReceiver:
    receiver = FrameReceiver()
    receiver.trust()
    return receiver


@given(
    st.lists(st.tuples(correlations, shorts, shorts, bodies), max_size=6),
    st.sampled_from([1, 7, 4_096, BUFFER_BYTES, 1 << 20]),
)
def test_frames_come_out_as_they_went_in(
    frames: list[tuple[int, int, int, bytes]], step: int
) -> None:
    if step == 1:
        frames = [frame for frame in frames if len(frame[3]) < 1_000]
    data = b"".join(
        encode_frame(correlation, kind, body, status=status)
        for correlation, kind, status, body in frames
    )
    assert [tuple(frame) for frame in fed(trusted(), data, step)] == frames


def test_the_body_of_a_frame_is_not_overwritten_by_the_next() -> None:
    receiver = trusted()
    (first,) = fed(receiver, encode_frame(1, 2, b"first"), 100)
    fed(receiver, encode_frame(2, 2, b"other"), 100)
    assert first.body == b"first"
    assert first.body.readonly


def test_the_layout_is_as_documented() -> None:
    assert encode_frame(5, 2, b"ab", status=REFUSED) == pack(">IQHH", 14, 5, 2, 1) + b"ab"


def test_large_bodies_are_not_copied_to_be_sent() -> None:
    body = bytes(1 << 20)
    header, sent = frame_chunks(1, 2, body)
    assert isinstance(header, bytes)
    assert len(header) == HEADER_BYTES
    assert sent is body
    assert len(frame_chunks(1, 2, b"small")) == 1


def test_the_parts_of_an_answer_are_one_frame() -> None:
    chunks = frame_chunks(7, 2, [b"ab", b"c" * 100_000, b"d"])
    (frame,) = fed(trusted(), b"".join(chunks), 50_000)  # type: ignore[arg-type]
    assert frame.correlation == 7
    assert frame.status == OK
    assert frame.body == b"ab" + b"c" * 100_000 + b"d"


@pytest.mark.parametrize("size", [0, 11, FRAME_BYTES_MAX, (1 << 32) - 1])
def test_a_size_that_no_frame_has_is_refused(size: int) -> None:
    with pytest.raises(MalformedFrame):
        fed(trusted(), pack(">IQHH", size, 1, 2, 0), 100)


def test_before_the_hello_only_little_is_believed() -> None:
    body = bytes(HELLO_BYTES_MAX)
    with pytest.raises(MalformedFrame):
        fed(FrameReceiver(), encode_frame(0, 0, body), 100)
    (frame,) = fed(FrameReceiver(), encode_frame(0, 0, body[HEADER_BYTES:]), 100)
    assert len(frame.body) == HELLO_BYTES_MAX - HEADER_BYTES


def test_a_frame_that_would_be_refused_is_not_made() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return FRAME_BYTES_MAX

    with pytest.raises(ValueError, match="larger than"):
        frame_chunks(1, 2, [Huge()])


@given(st.binary(max_size=300), st.integers(1, 50))
def test_garbage_is_a_frame_or_malformed_and_nothing_else(data: bytes, step: int) -> None:
    with contextlib.suppress(MalformedFrame):
        fed(trusted(), data, step)
