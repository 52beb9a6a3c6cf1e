"""Result of the last comparison with the nodes, on disk."""

import msgspec

from duolog_pipelines.lake import Lake
from duolog_pipelines.state import replace_file

_FILE = "reconciliation.json"


class Reconciliation(msgspec.Struct, frozen=True):
    time_ms: int
    journals: list[dict[str, str | int]]
    """Compared journals: node, journal, sent_sequence."""
    differences: list[str]
    silent: list[str]
    """Nodes that did not answer or do not meter, with the reason."""


def last_reconciliation(lake: Lake) -> Reconciliation | None:
    file = lake.exports("billing") / _FILE
    if not file.exists():
        return None
    return msgspec.json.decode(file.read_bytes(), type=Reconciliation)


def keep_reconciliation(lake: Lake, told: Reconciliation) -> None:
    replace_file(lake.exports("billing") / _FILE, msgspec.json.encode(told))
