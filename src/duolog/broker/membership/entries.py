"""Entries of nodes and the controller in the metadata store: keys and encoding.

    brokers/<node>       a registration, under the node's lease; its mod-revision is the
                         node's broker epoch
    nodes/<node>         permanent record of a node
    controller/leader    the controller, under its node's lease
    controller/epoch     number of controllers so far; every change of a partition's state
                         compares its mod-revision
    load/<node>          a node's load report, under its lease
    statements/<node>    a node's statement about itself, under its lease

Pure: no clock, no IO.
"""

import msgspec

from duolog.model.cluster import NodeRecord, Registration
from duolog.model.load import LoadReport
from duolog.model.statement import Statement
from duolog.ports.metastore import Entry

BROKERS_PREFIX = "brokers/"
NODES_PREFIX = "nodes/"
LOAD_PREFIX = "load/"
STATEMENTS_PREFIX = "statements/"
CONTROLLER_PREFIX = "controller/"
CONTROLLER_LEADER = CONTROLLER_PREFIX + "leader"
CONTROLLER_EPOCH = CONTROLLER_PREFIX + "epoch"


class ControllerLeader(msgspec.Struct, frozen=True):
    node: int
    incarnation: str


_registration_decoder = msgspec.json.Decoder(Registration)
_record_decoder = msgspec.json.Decoder(NodeRecord)
_leader_decoder = msgspec.json.Decoder(ControllerLeader)
_load_decoder = msgspec.json.Decoder(LoadReport)
_statement_decoder = msgspec.json.Decoder(Statement)


def broker_key(node: int) -> str:
    return f"{BROKERS_PREFIX}{node}"


def node_key(node: int) -> str:
    return f"{NODES_PREFIX}{node}"


def load_key(node: int) -> str:
    return f"{LOAD_PREFIX}{node}"


def statement_key(node: int) -> str:
    return f"{STATEMENTS_PREFIX}{node}"


def node_of_key(key: str) -> int:
    """Node id in a key under brokers/, nodes/, load/ or statements/."""
    return int(key.rpartition("/")[2])


def encode(
    value: Registration | NodeRecord | ControllerLeader | LoadReport | Statement,
) -> bytes:
    return msgspec.json.encode(value)


def decode_registration(entry: Entry) -> Registration:
    return _registration_decoder.decode(entry.value)


def decode_record(entry: Entry) -> NodeRecord:
    return _record_decoder.decode(entry.value)


def decode_leader(entry: Entry) -> ControllerLeader:
    return _leader_decoder.decode(entry.value)


def decode_load(entry: Entry) -> LoadReport:
    return _load_decoder.decode(entry.value)


def decode_statement(entry: Entry) -> Statement:
    return _statement_decoder.decode(entry.value)


def encode_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_epoch(entry: Entry | None) -> int:
    return 0 if entry is None else int(entry.value)
