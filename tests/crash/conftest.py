import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.node import Node

SEED_VARIABLE = "DUOLOG_CRASH_SEED"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A fresh node that rolls segments, checkpoints and snapshots all the time, so that a kill
    is likely to meet each of them."""
    settings = {"log.checkpoint.interval.ms": 50, "topic.segment.bytes": 128 * 1024}
    with Node(tmp_path, settings) as node:
        yield node


@pytest.fixture
def chance() -> random.Random:
    """Its seed is printed; set DUOLOG_CRASH_SEED to it to see the same again."""
    seed = int(os.environ.get(SEED_VARIABLE, random.SystemRandom().randrange(1 << 32)))
    print(f"{SEED_VARIABLE}={seed}")
    return random.Random(seed)
