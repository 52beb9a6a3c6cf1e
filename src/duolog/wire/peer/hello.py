"""The first frame each way: who speaks, and which protocol."""

import re
from typing import NamedTuple

import msgspec

from duolog.wire.peer.frames import MalformedFrame

PROTOCOL_VERSION = 1
"""Raised when nodes of the version before could misunderstand this one."""

CLUSTER_NAME_CHARS_MAX = 64


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """A map on the wire, so that a later version can add to it."""

    version: int = PROTOCOL_VERSION
    cluster_id: str
    node: int
    epoch: int
    """The speaker's broker epoch."""


class Identity(NamedTuple):
    """What a node's certificate says it is."""

    cluster: str
    """The name that the operator gave the cluster."""
    node: int

    @property
    def uri(self) -> str:
        """As in the certificate's subject alternative name."""
        return f"duolog://{self.cluster}/{self.node}"


def encode_hello(hello: Hello) -> bytes:
    return msgspec.msgpack.encode(hello)


def decode_hello(body: memoryview) -> Hello:
    """Raises MalformedFrame."""
    try:
        return msgspec.msgpack.decode(body, type=Hello)
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"the hello cannot be read: {error}") from None


def is_cluster_name(text: str) -> bool:
    """Whether a cluster can be called so: the name becomes part of a URI."""
    return re.fullmatch(rf"[A-Za-z0-9._-]{{1,{CLUSTER_NAME_CHARS_MAX}}}", text) is not None


def objection(
    ours: Hello, theirs: Hello, *, cluster: str | None, identity: str | None
) -> str | None:
    """What is wrong with the other side, or None.

    With the name of the cluster given, only who shows a certificate of it is believed.
    """
    if theirs.version != ours.version:
        return (
            f"node {theirs.node} speaks version {theirs.version} of the protocol between nodes,"
            f" and node {ours.node} version {ours.version}; run versions next to each other"
        )
    if theirs.cluster_id != ours.cluster_id:
        return (
            f"node {theirs.node} is of cluster {theirs.cluster_id}, and node {ours.node} of"
            f" cluster {ours.cluster_id}; check addresses and the metadata store of both"
        )
    if theirs.node == ours.node:
        return f"two nodes are number {ours.node}; give one of them another node.id"
    if cluster is not None:
        expected = Identity(cluster, theirs.node).uri
        if identity != expected:
            return (
                f"node {theirs.node} shows the certificate of {identity or 'nobody'} and not of"
                f" {expected}; give it the one that was made for it"
            )
    return None
