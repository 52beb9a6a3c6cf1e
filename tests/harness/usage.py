"""The usage lines that nodes have written, as a reader counts them."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from tests.harness.node import Node
from tests.harness.wire import Wire

from duolog.records.iterator import iter_batches, iter_records

USAGE_TOPIC = "__usage"
BYTES_MAX = 1 << 24
WAIT_SECONDS_MAX = 40.0
POLL_SECONDS = 0.1
UNKNOWN_TOPIC = 3

Line = dict[str, Any]
T = TypeVar("T")


def read_lines(address: str) -> list[Line]:
    """All of them, in the order of the log. None may be there twice, and none be missing."""
    lines: list[Line] = []
    next_offset = 0
    with Wire(address) as wire:
        while True:
            code, data = wire.fetch(USAGE_TOPIC, 0, next_offset, bytes_max=BYTES_MAX)
            if code == UNKNOWN_TOPIC:
                return []
            assert code == 0, f"reading usage lines was refused with {code}"
            if not data:
                break
            for _, batch in iter_batches(data):
                records = list(iter_records(batch, decompressed_bytes_max=BYTES_MAX))
                sheets = [json.loads(record.value or b"") for record in records]
                check_batch(sheets)
                lines += [line for sheet in sheets for line in lines_in(sheet)]
                next_offset += len(sheets)
    check_sequences(lines)
    return lines


def lines_in(sheet: dict[str, Any]) -> list[Line]:
    """With what they have in common, each with its number."""
    common = {name: value for name, value in sheet.items() if not isinstance(value, list)}
    columns = {name: value for name, value in sheet.items() if isinstance(value, list)}
    rows = zip(*columns.values(), strict=True)
    return [
        {**common, "line": number, **dict(zip(columns, row, strict=True))}
        for number, row in enumerate(rows)
    ]


def check_batch(sheets: list[dict[str, Any]]) -> None:
    """An interval is one batch, with all of its sheets."""
    assert len({(each["node"], each["journal"], each["sequence"]) for each in sheets}) == 1
    assert [each["part"] for each in sheets] == list(range(len(sheets)))
    assert {each["parts"] for each in sheets} == {len(sheets)}


def check_sequences(lines: list[Line]) -> None:
    """Each journal's intervals are there once, in order and without a gap."""
    for journal in {each["journal"] for each in lines}:
        own = [each["sequence"] for each in lines if each["journal"] == journal]
        numbers = list(dict.fromkeys(own))
        assert numbers == list(range(len(numbers))), f"{journal} has {numbers}"
        names = Counter(
            (each["sequence"], each["part"], each["line"])
            for each in lines
            if each["journal"] == journal
        )
        assert max(names.values()) == 1, "a line is there twice"


def total(lines: list[Line], resource: str, operation: str, field: str = "messages") -> int:
    return sum(
        each[field]
        for each in lines
        if (each["resource"], each["operation"]) == (resource, operation)
    )


def until_total(
    read: Callable[[], list[Line]], resource: str, operation: str, wanted: int
) -> list[Line]:
    """The lines, once so many messages are counted; it may take an interval or two."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        lines = read()
        found = total(lines, resource, operation)
        if found >= wanted or time.monotonic() > deadline:
            assert found == wanted, f"{found} of {wanted} messages are counted"
            return lines
        time.sleep(POLL_SECONDS)


def told(node: Node) -> dict[str, Any]:
    """What the node itself says that it has written."""
    answer: dict[str, Any] = json.loads(node.asked("/usage"))
    return answer
