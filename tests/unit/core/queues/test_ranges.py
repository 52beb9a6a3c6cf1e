"""Offset ranges against a plain set, with chunks so small that they split and vanish."""

from array import array
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duolog.core.queues import ranges as ranges_module
from duolog.core.queues.ranges import OffsetRanges

spans = st.tuples(st.integers(0, 80), st.integers(1, 8)).map(lambda span: (span[0], sum(span)))
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "append", "discard", "take_first", "remove", "remove_below", "remove_from"]
        ),
        spans,
    ),
    max_size=60,
)


@given(steps)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("chunk", [2, 512])
def test_ranges_are_a_set_of_offsets(
    monkeypatch: pytest.MonkeyPatch, chunk: int, steps: list[tuple[str, tuple[int, int]]]
) -> None:
    monkeypatch.setattr(ranges_module, "CHUNK_RANGES_MAX", chunk)
    ranges, model = OffsetRanges(), set[int]()
    for step, (first, next_offset) in steps:
        span = set(range(first, next_offset))
        match step:
            case "add":
                if not span & model:
                    ranges.add(first, next_offset)
                    model |= span
            case "append":
                first = max(first, max(model, default=-1) + 1)
                ranges.append(first, first + 3)
                model |= {first, first + 1, first + 2}
            case "discard":
                assert ranges.discard(first) == (first in model)
                model.discard(first)
            case "take_first":
                first = min(model, default=first)
                if ranges.take_first(first, first + 2):
                    assert {first, first + 1} <= model
                    model -= {first, first + 1}
                assert not ranges.take_first(first + 1_000, first + 1_001)
            case "remove":
                removed = ranges.remove(first, next_offset)
                assert offsets_of(removed) == sorted(span & model)
                model -= span
            case "remove_below":
                assert ranges.remove_below(first) == len({at for at in model if at < first})
                model = {at for at in model if at >= first}
            case "remove_from":
                assert ranges.remove_from(first) == len({at for at in model if at >= first})
                model = {at for at in model if at < first}
        assert ranges.count == len(model)
        assert offsets_of(ranges.pieces()) == sorted(model)
        assert offsets_of(ranges.pieces(first)) == [at for at in sorted(model) if at >= first]
        assert list(ranges.peek(5)) == sorted(model)[:5]
        assert ranges.first == min(model, default=None)
        assert [at for at in range(100) if at in ranges] == [at for at in sorted(model) if at < 100]
    again = OffsetRanges.from_array(ranges.to_array())
    assert again.to_array() == ranges.to_array()
    assert again.count == ranges.count


def offsets_of(pieces: Iterable[tuple[int, int]]) -> list[int]:
    return [at for first, next_offset in pieces for at in range(first, next_offset)]


def test_a_million_in_a_row_are_one_range() -> None:
    ranges = OffsetRanges()
    for first in range(0, 1_000_000, 1_000):
        ranges.append(first, first + 1_000)
    assert list(ranges.to_array()) == [0, 1_000_000]


@pytest.mark.parametrize("flat", [[3], [3, 3], [5, 3], [0, 4, 2, 6]])
def test_ranges_that_are_not_ascending_are_refused(flat: list[int]) -> None:
    with pytest.raises(ValueError):
        OffsetRanges.from_array(array("q", flat))
