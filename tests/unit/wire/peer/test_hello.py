"""Who may talk to whom."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog.wire.peer.frames import MalformedFrame
from duolog.wire.peer.hello import (
    Hello,
    Identity,
    decode_hello,
    encode_hello,
    is_cluster_name,
    objection,
)

OURS = Hello(cluster_id="abc", node=1, epoch=10)
THEIRS = Hello(cluster_id="abc", node=2, epoch=11)


def changed(**fields: object) -> Hello:
    return msgspec.structs.replace(THEIRS, **fields)


def test_a_hello_survives_the_way() -> None:
    assert decode_hello(memoryview(encode_hello(THEIRS))) == THEIRS


def test_a_later_version_may_say_more() -> None:
    more = {**msgspec.to_builtins(THEIRS), "favourite": "tea"}
    assert decode_hello(memoryview(msgspec.msgpack.encode(more))) == THEIRS


@given(st.binary(max_size=100))
def test_garbage_is_malformed(body: bytes) -> None:
    with contextlib.suppress(MalformedFrame):
        assert isinstance(decode_hello(memoryview(body)), Hello)


def test_nodes_of_one_cluster_talk() -> None:
    assert objection(OURS, THEIRS, cluster=None, identity=None) is None
    uri = Identity("prod", 2).uri
    assert objection(OURS, THEIRS, cluster="prod", identity=uri) is None


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (changed(version=2), "speaks version 2"),
        (changed(cluster_id="xyz"), "belongs to cluster xyz"),
        (changed(node=1), "two nodes are number 1"),
    ],
)
def test_others_do_not(theirs: Hello, said: str) -> None:
    assert said in (objection(OURS, theirs, cluster=None, identity=None) or "")


@pytest.mark.parametrize(
    "identity", [None, "duolog://prod/3", "duolog://test/2", "duolog://prod/22"]
)
def test_a_certificate_must_be_the_nodes_own(identity: str | None) -> None:
    said = objection(OURS, THEIRS, cluster="prod", identity=identity)
    assert said is not None
    assert "shows the certificate of" in said


@pytest.mark.parametrize("name", ["prod", "a.b-c_d", "X" * 64])
def test_names_of_clusters(name: str) -> None:
    assert is_cluster_name(name)


@pytest.mark.parametrize("name", ["", "a/b", "a b", "ä", "X" * 65, "a\n"])
def test_what_no_cluster_is_called(name: str) -> None:
    assert not is_cluster_name(name)
