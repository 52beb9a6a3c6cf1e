"""Who asks for SQS is told that there is none, in one line of the log."""

from pathlib import Path

import pytest
from tests.harness.node import Node

NOTICE = "no SQS door"


@pytest.mark.parametrize(
    ("settings", "lines"),
    [({}, 0), ({"sqs.listen": "127.0.0.1:9324"}, 1), ({"sqs.listen": ""}, 0)],
    ids=["default", "given", "given as none"],
)
def test_an_address_for_sqs_is_answered_with_one_warning(
    tmp_path: Path, settings: dict[str, str], lines: int
) -> None:
    with Node(tmp_path, settings) as node:
        node.stop()
        warnings = [line for line in node.log_text.splitlines() if NOTICE in line]
    assert len(warnings) == lines
    assert all("sqs.listen" in line and "warning" in line for line in warnings)
