"""A node that is killed at any moment loses nothing that it acknowledged."""

import os
import random
import time
from threading import Thread

import pytest
from tests.harness.load import NumberedLoad, check_numbered
from tests.harness.node import Node
from tests.harness.wire import Wire

from duolog.wire.kafka.apis import ApiKey

ROUNDS = int(os.environ.get("DUOLOG_CRASH_ROUNDS", "8"))
ROUNDS_OF_COMMITS = max(8, ROUNDS // 6)
ROUNDS_PER_CHECK = 5
KILL_SECONDS_MIN, KILL_SECONDS_MAX = 0.05, 0.4
PARTITIONS = 4

CONFIRMED_PER_ROUND = 2
CONFIRMED_SECONDS_MAX = 30.0

OFFSET_COMMIT_VERSION = 7
OFFSET_FETCH_VERSION = 7


@pytest.mark.timeout(60 + 5 * ROUNDS)
def test_a_killed_node_keeps_everything_acknowledged_once_and_in_order(
    node: Node, chance: random.Random
) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=PARTITIONS) == 0
    with NumberedLoad(node.kafka, "numbers", PARTITIONS) as load:
        for each in range(1, ROUNDS + 1):
            load.wait_for_progress()
            time.sleep(chance.uniform(KILL_SECONDS_MIN, KILL_SECONDS_MAX))
            node.kill()
            node.check_log()
            acknowledged = list(load.acknowledged)
            node.restart()
            if each % ROUNDS_PER_CHECK == 0:
                check_numbered(node.kafka, "numbers", acknowledged)
        load.finish()
        check_numbered(node.kafka, "numbers", load.acknowledged)
        print(f"{load.total} records over {ROUNDS} kills")
    # Exactly once also means that nothing follows what was acknowledged last.
    with Wire(node.kafka) as wire:
        for partition, count in enumerate(load.acknowledged):
            assert wire.fetch("numbers", partition, count) == (0, b"")


class Committer(Thread):
    """Commits ever larger offsets for a group, as fast as they are confirmed."""

    def __init__(self, address: str, group: str, topic: str, first: int) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(address)
        self._group = group
        self._topic = topic
        self.attempted = first
        self.confirmed = first
        self.start()

    def run(self) -> None:
        while True:
            self.attempted += 1
            try:
                response = self._wire.call(
                    ApiKey.OFFSET_COMMIT, OFFSET_COMMIT_VERSION, self._commit(self.attempted)
                )
            except (OSError, AssertionError):
                return
            if int(response.topics[0].partitions[0].error_code) == 0:
                self.confirmed = self.attempted

    def wait_for_confirmed(self, offset: int) -> None:
        deadline = time.monotonic() + CONFIRMED_SECONDS_MAX
        while self.confirmed < offset:
            assert time.monotonic() < deadline, "nothing is committed any more"
            time.sleep(0.002)

    def _commit(self, offset: int) -> dict[str, object]:
        return {
            "group_id": self._group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [
                {
                    "name": self._topic,
                    "partitions": [
                        {
                            "partition_index": 0,
                            "committed_offset": offset,
                            "committed_leader_epoch": -1,
                            "committed_metadata": f"note {offset}",
                        }
                    ],
                }
            ],
        }


def committed(address: str, group: str, topic: str) -> tuple[int, str]:
    with Wire(address) as wire:
        response = wire.call(
            ApiKey.OFFSET_FETCH,
            OFFSET_FETCH_VERSION,
            {
                "group_id": group,
                "topics": [{"name": topic, "partition_indexes": [0]}],
                "require_stable": False,
            },
        )
    (partition,) = response.topics[0].partitions
    assert int(partition.error_code) == 0
    return partition.committed_offset, partition.metadata


def test_a_committed_offset_never_goes_back(node: Node, chance: random.Random) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("read") == 0
        # As every client does first; the topic of committed offsets is made by it.
        wire.call(ApiKey.FIND_COORDINATOR, 3, {"key": "readers", "key_type": 0})
    reached = 0
    for _ in range(ROUNDS_OF_COMMITS):
        committer = Committer(node.kafka, "readers", "read", reached)
        committer.wait_for_confirmed(reached + CONFIRMED_PER_ROUND)
        time.sleep(chance.uniform(KILL_SECONDS_MIN, KILL_SECONDS_MAX))
        node.kill()
        committer.join(10)
        node.restart()
        reached, note = committed(node.kafka, "readers", "read")
        assert committer.confirmed <= reached <= committer.attempted
        assert note == f"note {reached}"
    assert reached > ROUNDS_OF_COMMITS, "too few commits to prove anything"
