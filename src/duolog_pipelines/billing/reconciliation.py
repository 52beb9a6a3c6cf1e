"""Comparison of billed usage with the nodes' own counts, exact to the message. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from duolog_pipelines.billing.pricing import Subject, Used
from duolog_pipelines.usage.journals import JournalName

FIELDS = ("requests", "messages", "bytes", "byte_seconds", "errors")


class Total(msgspec.Struct, frozen=True):
    tenant: str
    kind: str
    resource: str
    operation: str
    requests: int = 0
    messages: int = 0
    bytes: int = 0
    byte_seconds: int = 0
    errors: int = 0


class NodeTotals(msgspec.Struct, frozen=True):
    """Totals of all lines of a node's journal up to a sequence."""

    journal: str
    node: int
    sent_sequence: int
    """Last sequence that is in the topic; -1 before the first."""
    totals: list[Total]


class Difference(NamedTuple):
    journal: JournalName
    subject: Subject
    field: str
    counted: int
    """Value that the node has counted."""
    found: int
    """Sum of the lines."""

    def __str__(self) -> str:
        who = self.subject
        return (
            f"{self.journal}: {self.field} of {who.operation} on {who.kind} {who.resource} of"
            f" tenant {who.tenant} are {self.counted} by the node and {self.found} by its lines"
        )


def differences(
    totals: Iterable[NodeTotals], lines: Mapping[JournalName, Used]
) -> list[Difference]:
    """Compare totals with `lines`, the sums of each journal up to its node's reported sequence."""
    found = []
    for each in totals:
        name = JournalName(each.node, each.journal)
        mine = lines.get(name, {})
        theirs = {
            Subject(total.tenant, total.kind, total.resource, total.operation): total
            for total in each.totals
        }
        for subject in sorted(theirs.keys() | mine.keys()):
            for field in FIELDS:
                total = theirs.get(subject)
                counted = 0 if total is None else int(getattr(total, field))
                summed = mine.get(subject, {}).get(field, 0)
                if counted != summed:
                    found.append(Difference(name, subject, field, counted, summed))
    return found
