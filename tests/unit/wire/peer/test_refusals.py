"""A refusal arrives as what it was."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.model import errors, queue_errors
from duolog.model.errors import MemberIdRequired, PeerFailed, Refusal, UnknownTopicId
from duolog.wire.peer.frames import MalformedFrame
from duolog.wire.peer.refusals import KNOWN, TEXT_CHARS_MAX, decode_refusal, encode_refusal


def sent(refusal: Refusal) -> Refusal:
    return decode_refusal(memoryview(encode_refusal(refusal)))


def test_all_refusals_are_known_and_nothing_else() -> None:
    assert errors.TopicExists in KNOWN.values()
    assert queue_errors.QueueDoesNotExist in KNOWN.values()
    assert all(issubclass(kind, Refusal) and kind is not Refusal for kind in KNOWN.values())


@pytest.mark.parametrize("kind", KNOWN.values(), ids=lambda kind: kind.__name__)
def test_a_refusal_keeps_its_class_and_its_text(kind: type[Refusal]) -> None:
    arrived = sent(kind("because"))
    assert type(arrived) is kind
    assert str(arrived) == str(kind("because"))


def test_a_refusal_keeps_what_else_it_tells() -> None:
    arrived = sent(MemberIdRequired("member-7"))
    assert isinstance(arrived, MemberIdRequired)
    assert arrived.member_id == "member-7"


def test_a_refusal_that_is_not_known_here_has_an_unknown_outcome() -> None:
    class Later(Refusal):
        """Of a newer version."""

    arrived = sent(Later("in your time"))
    assert type(arrived) is PeerFailed
    assert str(arrived) == "Later: in your time"


@pytest.mark.parametrize("name", ["SystemExit", "Refusal", "object", "__builtins__"])
def test_no_other_class_can_be_named(name: str) -> None:
    body = msgspec.msgpack.encode((name, "text", {}))
    assert type(decode_refusal(memoryview(body))) is PeerFailed


def test_a_text_has_an_end() -> None:
    assert len(str(sent(UnknownTopicId("x" * 1_000_000)))) == TEXT_CHARS_MAX


@given(st.binary(max_size=100))
def test_garbage_is_malformed(body: bytes) -> None:
    with contextlib.suppress(MalformedFrame):
        assert isinstance(decode_refusal(memoryview(body)), Refusal)
