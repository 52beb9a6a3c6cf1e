"""Hello, the first frame each way: identity of the speaker and version of the protocol."""

import re
from typing import NamedTuple

import msgspec

from duolog.wire.peer.frames import MalformedFrame

PROTOCOL_VERSION = 1
"""Version of the protocol; raised when nodes of the version before could misunderstand it."""

CLUSTER_NAME_CHARS_MAX = 64


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """Identity and version of one side; a map on the wire, so that a later version can add to
    it."""

    version: int = PROTOCOL_VERSION
    cluster_id: str
    node: int
    epoch: int
    """Broker epoch of the speaker."""


class Identity(NamedTuple):
    """Cluster and node that a node's certificate is made out to."""

    cluster: str
    """Name that the operator gave the cluster."""
    node: int

    @property
    def uri(self) -> str:
        """URI of the certificate's subject alternative name."""
        return f"duolog://{self.cluster}/{self.node}"


def encode_hello(hello: Hello) -> bytes:
    return msgspec.msgpack.encode(hello)


def decode_hello(body: memoryview) -> Hello:
    """Decodes a hello; raises MalformedFrame."""
    try:
        return msgspec.msgpack.decode(body, type=Hello)
    except msgspec.DecodeError as error:
        raise MalformedFrame(f"the hello cannot be read: {error}") from None


def is_cluster_name(text: str) -> bool:
    """True if the text can name a cluster: the name becomes part of a URI."""
    return re.fullmatch(rf"[A-Za-z0-9._-]{{1,{CLUSTER_NAME_CHARS_MAX}}}", text) is not None


def objection(
    ours: Hello, theirs: Hello, *, cluster: str | None, identity: str | None
) -> str | None:
    """Reason for refusing the other side, or None.

    If `cluster` is given, the other side must show that cluster's certificate for its node.
    """
    if theirs.version != ours.version:
        return (
            f"node {theirs.node} speaks version {theirs.version} of the protocol between nodes,"
            f" and node {ours.node} version {ours.version}; a cluster mixes adjacent versions only"
        )
    if theirs.cluster_id != ours.cluster_id:
        return (
            f"node {theirs.node} belongs to cluster {theirs.cluster_id}, and node {ours.node} to"
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
