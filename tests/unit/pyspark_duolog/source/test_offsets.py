import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_duolog.errors import InvalidOffsets
from pyspark_duolog.source.offsets import Offsets, TopicOffsets, offsets_from_json, offsets_to_json

PARTITIONS = st.dictionaries(st.integers(0, 20), st.integers(0, 1 << 62), max_size=4)
OFFSETS = st.dictionaries(
    st.text(max_size=5), st.builds(TopicOffsets, st.text(max_size=5), PARTITIONS, PARTITIONS)
)


@given(OFFSETS)
def test_a_checkpoint_gives_back_what_was_kept(offsets: Offsets) -> None:
    kept = json.loads(json.dumps(offsets_to_json(offsets)))
    assert offsets_from_json(kept) == offsets


def test_the_same_offsets_are_the_same_text() -> None:
    one = {"b": TopicOffsets("y", {1: 2, 0: 1}, {}), "a": TopicOffsets("x", {}, {})}
    other = {"a": TopicOffsets("x", {}, {}), "b": TopicOffsets("y", {0: 1, 1: 2}, {})}
    assert json.dumps(offsets_to_json(one)) == json.dumps(offsets_to_json(other))


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"version": 2, "topics": {}},
        {"version": 1, "topics": []},
        {"version": 1, "topics": {"t": {}}},
        {"version": 1, "topics": {"t": {"id": 7, "next": {}}}},
        {"version": 1, "topics": {"t": {"id": "x", "next": {"0": -3}}}},
        {"version": 1, "topics": {"t": {"id": "x", "next": {"zero": 3}}}},
        {"version": 1, "topics": {"t": {"id": "x", "next": {"0": "3"}}}},
        {"version": 1, "topics": {"t": {"id": "x", "next": {"0": True}}}},
    ],
)
def test_what_nobody_kept_is_refused(value: Any) -> None:
    with pytest.raises(InvalidOffsets):
        offsets_from_json(value)
