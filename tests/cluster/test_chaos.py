"""Three nodes and three members of etcd are killed, frozen, cut off from each other and from
their power while they are used: nothing acknowledged is lost, repeated or out of order.

DUOLOG_CHAOS_SECONDS makes it longer; DUOLOG_CHANCE_SEED chooses the same faults again.
"""

import os
import random
import time
from pathlib import Path

import pytest
from tests.cluster.conftest import SEED
from tests.harness.chaos import Chaos
from tests.harness.copies import check_same_copies, last_offset
from tests.harness.distant_cluster import distant_cluster
from tests.harness.group_load import GroupLoad
from tests.harness.load import NumberedLoad
from tests.harness.numbered import check_numbered_through
from tests.harness.queue_load import Load, under_load, wait_for_progress

CHAOS_SECONDS = float(os.environ.get("DUOLOG_CHAOS_SECONDS", "12"))
TOPIC = "numbers"
PARTITIONS = 4
MEMBERS = 2
WELL_SECONDS_MAX = 45.0
"""An outage of etcd, a lease that must end, an election, and a machine that is busy."""
SETTINGS = {
    "topic.segment.bytes": 512 * 1024,
    "log.checkpoint.interval.ms": 500,
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 50,
}


@pytest.mark.timeout(240 + 3 * CHAOS_SECONDS)
def test_whatever_happens_nothing_acknowledged_is_lost(
    tmp_path: Path, chance: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    with distant_cluster(tmp_path, settings=SETTINGS) as place:
        cluster = place.cluster
        cluster.until_settled()
        cluster.create_topic(TOPIC, PARTITIONS)
        queues = [Load(cluster, "orders"), Load(cluster, "orders.fifo")]
        chaos = Chaos(place, chance)
        with (
            NumberedLoad(cluster.bootstrap, TOPIC, PARTITIONS) as numbers,
            GroupLoad(cluster.bootstrap, TOPIC, "readers", MEMBERS) as group,
            under_load(*queues),
        ):

            def until_well() -> None:
                numbers.wait_for_progress_everywhere(WELL_SECONDS_MAX)
                wait_for_progress(queues, WELL_SECONDS_MAX)
                group.check()

            until_well()
            group.wait_for_commit(WELL_SECONDS_MAX)
            deadline = time.monotonic() + CHAOS_SECONDS
            while time.monotonic() < deadline:
                chaos.hurt(until_well)
            group.wait_for_commit(WELL_SECONDS_MAX)
            numbers.finish()
            for queue in queues:
                queue.finish()
            cluster.until_settled()
        check_numbered_through(cluster.bootstrap, TOPIC, numbers.acknowledged)
        group.check_committed(PARTITIONS)
        for node in cluster.nodes.values():
            node.stop()
        nodes = list(cluster.nodes.values())
        for partition, count in enumerate(numbers.acknowledged):
            assert all(last_offset(node, TOPIC, partition) >= count - 1 for node in nodes)
        compared = check_same_copies(nodes)
    standard, fifo = (queue.ledger.sent_count for queue in queues)
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(chaos.counts.items()))
    with capsys.disabled():
        print(
            f"\nchaos with seed {SEED}: {numbers.total} records, {group.received} read,"
            f" {group.offsets.commits} commits, {standard} messages, {fifo} in order;"
            f" faults: {faults}; longest pause of writes {numbers.longest_pause_seconds:.1f} s;"
            f" {compared} batches are the same on all nodes; nothing lost"
        )
