"""What else outlives a kill: topics as they were acknowledged, and the progress of a group."""

import random
import time
from threading import Thread

from confluent_kafka import KafkaError
from tests.harness.drivers import confluent
from tests.harness.drivers.ledger import DeliveryLedger
from tests.harness.load import NumberedLoad, payload
from tests.harness.node import Node
from tests.harness.wire import Wire

from duolog.wire.kafka.apis import ApiKey

ROUNDS = 4
PARTITIONS = 2
DELIVERED_SECONDS_MAX = 30.0
DELETE_TOPICS_VERSION = 5
METADATA_VERSION = 9
CHURN_SECONDS_MAX = 10.0


class TopicChurn(Thread):
    """Makes topics and deletes every other one, as fast as that is acknowledged."""

    def __init__(self, address: str, prefix: str) -> None:
        super().__init__(daemon=True)
        self._wire = Wire(address)
        self._prefix = prefix
        self.there: set[str] = set()
        self.gone: set[str] = set()
        self.unknown = ""
        """The topic whose fate nobody was told."""
        self.start()

    def run(self) -> None:
        number = 0
        try:
            while True:
                self.unknown = name = f"{self._prefix}-{number}"
                assert self._wire.create_topic(name, partitions=PARTITIONS) == 0
                self.there.add(name)
                if number % 2:
                    self.there.discard(name)
                    self._delete_topic(name)
                    self.gone.add(name)
                number += 1
        except (OSError, AssertionError):
            return

    def _delete_topic(self, name: str) -> None:
        fields = {"topic_names": [name], "timeout": 10_000}
        response = self._wire.call(ApiKey.DELETE_TOPICS, DELETE_TOPICS_VERSION, fields)
        assert int(response.responses[0].error_code) == 0


def topics_of(node: Node) -> set[str]:
    with Wire(node.kafka) as wire:
        response = wire.call(ApiKey.METADATA, METADATA_VERSION, {"topics": None})
    return {topic.name for topic in response.topics}


def test_topics_are_as_they_were_acknowledged(node: Node, chance: random.Random) -> None:
    there: set[str] = set()
    gone: set[str] = set()
    for each in range(ROUNDS):
        churn = TopicChurn(node.kafka, f"round-{each}")
        deadline = time.monotonic() + CHURN_SECONDS_MAX
        while len(churn.gone) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.3))
        node.kill()
        churn.join(10)
        there |= churn.there
        gone |= churn.gone
        node.restart()
        topics = topics_of(node)
        assert there - {churn.unknown} <= topics
        assert not gone & topics
        with Wire(node.kafka) as wire:
            for topic in sorted(there & topics)[-3:]:
                assert wire.produce_values(topic, [b"usable"], partition=1) >= 0
    assert len(gone) > ROUNDS, "too few topics to prove anything"


class PatientMember(confluent.Member):
    """Commits again what could not be committed while the node was away."""

    retriable_codes = (
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._WAIT_COORD,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNKNOWN_MEMBER_ID,
    )


def test_a_group_goes_on_where_it_was_and_misses_nothing(node: Node, chance: random.Random) -> None:
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=PARTITIONS) == 0
    ledger = DeliveryLedger()
    member = PatientMember(node.kafka, "readers", "numbers", ledger)
    with NumberedLoad(node.kafka, "numbers", PARTITIONS) as load:
        for _ in range(ROUNDS):
            load.wait_for_progress(records=200)
            time.sleep(chance.uniform(0.1, 0.5))
            node.kill()
            node.restart()
        load.finish()
    wanted = {
        payload(partition, number)
        for partition, count in enumerate(load.acknowledged)
        for number in range(count)
    }
    deadline = time.monotonic() + DELIVERED_SECONDS_MAX
    while not wanted <= ledger.values.keys():
        assert member.failure is None, member.failure
        assert time.monotonic() < deadline, f"{len(wanted - ledger.values.keys())} are missing"
        time.sleep(0.05)
    member.leave()
    assert member.failure is None, member.failure
    assert ledger.values.keys() == wanted
    assert ledger.repeated == []
