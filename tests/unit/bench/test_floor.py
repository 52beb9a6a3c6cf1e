from bench.floor import split


def frames(*sizes: int) -> bytearray:
    return bytearray(b"".join(size.to_bytes(4, "big") + bytes(size) for size in sizes))


def test_only_whole_frames_are_counted() -> None:
    data = frames(3, 5, 8)
    assert split(memoryview(data), len(data)) == (3, len(data))
    assert split(memoryview(data), len(data) - 1) == (2, 4 + 3 + 4 + 5)
    assert split(memoryview(data), 3) == (0, 0)


def test_an_empty_frame_is_a_frame() -> None:
    assert split(memoryview(frames(0)), 4) == (1, 4)
