"""Clusters of real processes; every test has one of its own."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.cluster import Cluster

SEED = int(os.environ.get("DUOLOG_CHANCE_SEED", "0")) or random.SystemRandom().randrange(1 << 32)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as cluster:
        cluster.until_settled()
        yield cluster


@pytest.fixture
def chance() -> random.Random:
    print(f"DUOLOG_CHANCE_SEED={SEED}")
    return random.Random(SEED)
