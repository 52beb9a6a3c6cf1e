"""Batches that are read into columns, held against the decoder of all requests."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duolog.model.errors import Refusal
from duolog.wire.sqs import json_protocol
from duolog.wire.sqs.apis import ACTIONS
from duolog.wire.sqs.plain_batches import DECODERS

MEMBERS = {"SendMessageBatch": "MessageBody", "DeleteMessageBatch": "ReceiptHandle"}
URL = "http://127.0.0.1:9324/000000000000/q"


def batch(action: str, *values: str) -> dict[str, Any]:
    entries = [{"Id": str(place), MEMBERS[action]: each} for place, each in enumerate(values)]
    return {"QueueUrl": URL, "Entries": entries}


def usual(action: str, content: bytes) -> tuple[str, list[str], list[str]] | None:
    """As the decoder has it; None for what is no batch, or says more."""
    try:
        shape: Any = json_protocol.decode(ACTIONS[action], content)
    except Refusal:
        return None
    field = "message_body" if action == "SendMessageBatch" else "receipt_handle"
    ids = [entry.id for entry in shape.entries]
    return shape.queue_url, ids, [getattr(entry, field) for entry in shape.entries]


def plain(action: str, content: bytes) -> tuple[str, list[str], list[str]] | None:
    found = DECODERS[action](content)
    if found is None:
        return None
    texts = [each if isinstance(each, str) else each.decode("ascii") for each in found.values]
    return found.queue_url, found.ids, texts


@pytest.mark.parametrize("action", MEMBERS)
@given(
    values=st.lists(
        st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs"))),
        min_size=1,
        max_size=10,
    ),
    indent=st.sampled_from([None, 0, 3]),
)
def test_a_plain_batch_is_read_as_any(action: str, values: list[str], indent: int | None) -> None:
    content = json.dumps(batch(action, *values), indent=indent).encode()
    found = plain(action, content)
    if action == "SendMessageBatch" or "\\" not in content.decode():
        assert found == usual(action, content)
    else:
        assert found is None


def test_bodies_that_are_json_themselves_are_plain() -> None:
    body = json.dumps({"path": "C:\\x", "text": 'a "b"\n\tc\r', "url": r"http:\/\/x"}, indent=1)
    content = json.dumps(batch("SendMessageBatch", body, "other")).encode()
    found = plain("SendMessageBatch", content)
    assert found is not None
    assert found[2] == [body, "other"]


@pytest.mark.parametrize("action", MEMBERS)
@given(position=st.integers(0, 400), value=st.binary(max_size=3), cut=st.integers(0, 3))
@example(position=0, value=b"", cut=3)
def test_a_damaged_batch_is_never_read_otherwise_than_usual(
    action: str, position: int, value: bytes, cut: int
) -> None:
    content = json.dumps(batch(action, 'one "two"\n', "three")).encode()
    content = content[:position] + value + content[position + cut :]
    found = plain(action, content)
    if found is not None:
        assert found == usual(action, content)


def changed(action: str, **members: Any) -> bytes:
    return json.dumps(batch(action, "x") | members).encode()


@pytest.mark.parametrize("action", MEMBERS)
def test_what_says_more_or_less_is_left_to_the_decoder(action: str) -> None:
    member = MEMBERS[action]
    one = {"Id": "a", member: "x"}
    others = (
        b"",
        b"{}",
        b"[]",
        changed(action, More=1),
        changed(action, Entries=[]),
        changed(action, Entries=[one] * 2),
        changed(action, Entries=[one | {"Id": str(place)} for place in range(11)]),
        changed(action, Entries=[one | {"DelaySeconds": 1}]),
        changed(action, Entries=[one | {"Id": ""}]),
        changed(action, Entries=[one | {"Id": "a b"}]),
        changed(action, Entries=[one | {"Id": "a" * 81}]),
        changed(action, Entries=[one | {member: None}]),
        changed(action, Entries=[one | {member: "\u2713"}]),
        changed(action, Entries=[one | {member: "\x00"}]),
        changed(action, Entries=[one | {member: "\x08"}]),
        changed(action, Entries=one),
        changed(action, QueueUrl=None),
        changed(action) + b"x",
        b'{"QueueUrl":"q","QueueUrl":"q"}',
        b'{"Entries":[{"Id":"a","%b":"x","Id":"a"}],"QueueUrl":"q"}' % member.encode(),
        json.dumps(batch(action, "\u2713"), ensure_ascii=False).encode(),
    )
    for content in others:
        assert DECODERS[action](content) is None


@pytest.mark.parametrize("action", MEMBERS)
def test_the_longest_id_and_the_most_entries_are_plain(action: str) -> None:
    entries = [{MEMBERS[action]: "x", "Id": f"{place}".rjust(80, "-")} for place in range(10)]
    found = plain(action, json.dumps({"Entries": entries, "QueueUrl": URL}).encode())
    assert found == (URL, [entry["Id"] for entry in entries], ["x"] * 10)
