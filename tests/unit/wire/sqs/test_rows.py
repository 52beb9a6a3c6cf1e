"""Answers made of columns, held against the encoder of all answers."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.wire.sqs import json_protocol, rows
from duolog.wire.sqs.messages import Message, ReceiveMessageResult
from duolog.wire.sqs.rows import DELETED, RECEIVED, SENT, Rows, Table
from duolog.wire.sqs.texts import Texts

IDS = st.text(st.characters(codec="ascii"), max_size=20)
BODIES = st.text(max_size=100).map(str.encode)
MANY = st.lists(st.tuples(IDS, IDS, IDS, BODIES), max_size=12)


def cut(count: int, data: st.DataObject) -> list[int]:
    """So many rows for some results, of which some may have none."""
    ends = sorted(data.draw(st.lists(st.integers(0, count), max_size=4)))
    return [end - start for start, end in zip([0, *ends], [*ends, count], strict=True)]


def test_it_is_compiled_where_tests_run() -> None:
    assert rows.json_rows.__module__ == "duolog.wire.sqs._rows"


@given(MANY, st.data())
def test_what_is_received_is_written_as_the_encoder_writes_it(
    many: list[tuple[str, str, str, bytes]], data: st.DataObject
) -> None:
    columns = tuple(zip(*many, strict=True)) if many else ((), (), (), ())
    table = Table(columns, cut(len(many), data))
    usual = []
    first = 0
    for count in table.counts:
        found = [Message(*each[:3], each[3].decode()) for each in many[first : first + count]]
        usual.append(json_protocol.encode(ReceiveMessageResult(found)))
        first += count
    assert RECEIVED.json(table) == usual
    assert [json_protocol.encode(each) for each in RECEIVED.shapes(table)] == usual
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "json_rows", rows._rows_in_python)
        assert RECEIVED.json(table) == usual


@given(st.lists(st.tuples(st.text("ab", min_size=3, max_size=3), BODIES), max_size=12), st.data())
def test_texts_of_one_length_are_written_as_others(
    many: list[tuple[str, bytes]], data: st.DataObject
) -> None:
    ids, bodies = [each for each, _ in many], [body for _, body in many]
    counts = cut(len(many), data)
    usual = RECEIVED.json(Table((ids, ids, ids, bodies), counts))
    texts = Texts("".join(ids), 3)
    table = Table((texts, ids, texts, bodies), counts)
    assert RECEIVED.json(table) == usual
    assert [json_protocol.encode(each) for each in RECEIVED.shapes(table)] == usual
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "json_rows", rows._rows_in_python)
        assert RECEIVED.json(table) == usual


@pytest.mark.parametrize(("kind", "width"), [(SENT, 3), (DELETED, 1)])
def test_what_became_of_batches_is_written_as_the_encoder_writes_it(kind: Rows, width: int) -> None:
    table = Table(tuple([f"{name}{place}" for place in range(5)] for name in "abc"[:width]), (2, 3))
    assert kind.json(table) == [json_protocol.encode(each) for each in kind.shapes(table)]


@pytest.mark.parametrize(
    "columns",
    [
        (["a"],),
        (["a"], ["b"], ["c"], ["d"], ["e"]),
        (["a"], ["b"], ["c", "d"]),
        (["a"], ["b"], [3]),
        (["a"], ["b"], ["\u2713"]),
        (["a"], ["b"], None),
        (["a"], ["b"], Texts("abc", 2)),
        (["a"], ["b"], Texts("ab", 1)),
        (["a"], ["b"], Texts("ab", -2)),
        (["a"], ["b"], Texts("\u2713", 1)),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: tuple[list[str], ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        SENT.json(Table(columns, (1,)))


@pytest.mark.parametrize("counts", [(2,), (-1,), (1, 1), ("1",), None])
def test_no_more_rows_are_written_than_there_are(counts: tuple[int, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        SENT.json(Table((["a"], ["b"], ["c"]), counts))


def test_every_control_character_is_escaped() -> None:
    body = bytes(range(0x80))
    (written,) = RECEIVED.json(Table((["a"], ["b"], ["c"], [body]), (1,)))
    assert msgspec.json.decode(written)["Messages"][0]["Body"] == body.decode()
