"""What nodes have counted against what their lines say."""

from duolog_pipelines.billing.pricing import Subject
from duolog_pipelines.billing.reconciliation import NodeTotals, Total, differences
from duolog_pipelines.usage.journals import JournalName

NAME = JournalName(1, "ab")
SEND = Subject("acme", "queue", "orders", "send")
TOLD = NodeTotals("ab", 1, 16, [Total(*SEND, requests=2, messages=20)])


def test_equal_counts_have_no_differences() -> None:
    lines = {NAME: {SEND: {"requests": 2, "messages": 20, "bytes": 0}}}
    assert differences([TOLD], lines) == []


def test_a_difference_of_one_message_is_told() -> None:
    (found,) = differences([TOLD], {NAME: {SEND: {"requests": 2, "messages": 19}}})
    assert str(found) == (
        "journal ab of node 1: messages of send on queue orders of tenant acme are 20 by the node"
        " and 19 by its lines"
    )


def test_what_only_one_side_knows_is_a_difference() -> None:
    receive = SEND._replace(operation="receive")
    lines = {NAME: {receive: {"messages": 1}}}
    assert {(each.subject.operation, each.field) for each in differences([TOLD], lines)} == {
        ("send", "requests"),
        ("send", "messages"),
        ("receive", "messages"),
    }
    assert len(differences([TOLD], {})) == 2
