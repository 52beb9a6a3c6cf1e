"""Queues outlive a kill: nothing acknowledged is lost, undone, or seen out of its order."""

import os
import random
import time

import pytest
from tests.harness.node import Node
from tests.harness.queue_load import Load, under_load, wait_for_progress

ROUNDS = int(os.environ.get("DUOLOG_CRASH_ROUNDS", "8"))
KILL_SECONDS_MIN, KILL_SECONDS_MAX = 0.05, 0.35


@pytest.mark.timeout(120 + 5 * ROUNDS)
def test_a_killed_node_keeps_what_it_said_about_its_messages(
    node: Node, chance: random.Random
) -> None:
    loads = [Load(node, "numbers"), Load(node, "numbers.fifo")]
    with under_load(*loads):
        for _ in range(ROUNDS):
            wait_for_progress(loads)
            time.sleep(chance.uniform(KILL_SECONDS_MIN, KILL_SECONDS_MAX))
            node.kill()
            node.check_log()
            node.restart()
        for load in loads:
            load.finish()
    for load in loads:
        ledger = load.ledger
        print(
            f"{load.url}: {ledger.sent_count} sent, {ledger.received_count} received,"
            f" {ledger.deleted_count} surely deleted over {ROUNDS} kills"
        )
        assert ledger.deleted_count > ROUNDS, "too little was done to prove anything"
        assert any(consumer.kept for consumer in load.consumers)
