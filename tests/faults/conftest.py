from pathlib import Path

import pytest
from tests.harness.node import Node

NEVER_MS = 86_400_000


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A fresh node, not yet started. It takes no checkpoints, so that after a kill recovery
    looks at everything, and does not look for damage while it runs."""
    return Node(tmp_path, {"log.scrub.bytes.per.second": 0, "log.checkpoint.interval.ms": NEVER_MS})
