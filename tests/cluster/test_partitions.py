"""The network between nodes, or between a node and etcd, is cut under load."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic
from tests.harness.distant_cluster import DistantCluster, distant_cluster
from tests.harness.load import NumberedLoad
from tests.harness.numbered import check_numbered_through

TOPIC = "numbers"
PARTITIONS = 6
OUTAGE_SECONDS_MAX = 40.0
LEASE_SECONDS_MAX = 3.0
SHRINK_SECONDS_MAX = 30.0
"""A follower is given ten seconds."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistantCluster]:
    directory: Path = tmp_path_factory.mktemp("partitions")
    with distant_cluster(directory, etcd_members=1) as place:
        yield place


@pytest.fixture
def place(shared: DistantCluster) -> Iterator[DistantCluster]:
    shared.cluster.until_settled()
    yield shared
    shared.network.heal()


def create_topic_led_by(place: DistantCluster, number: int, topic: str) -> None:
    """With all that it has: a client that was led there has no reason to look elsewhere."""
    others = [each for each in place.cluster.nodes if each != number]
    new = NewTopic(topic, PARTITIONS, replica_assignment=[[number, *others]] * PARTITIONS)
    admin = place.cluster.admin()
    admin.create_topics([new])[topic].result(OUTAGE_SECONDS_MAX)


@pytest.mark.parametrize("way", ["both ways", "out", "in"])
def test_a_node_that_has_lost_the_store_is_replaced_and_clients_leave_it(
    place: DistantCluster, way: str
) -> None:
    topic = f"{TOPIC}-{way.replace(' ', '-')}"
    create_topic_led_by(place, 1, topic)
    node, store = place.node_machines[:1], place.etcd_machines
    with NumberedLoad(place.cluster.bootstrap, topic, PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
        if way != "in":
            place.network.silence(node, store)
        if way != "out":
            place.network.silence(store, node)
        time.sleep(LEASE_SECONDS_MAX)
        # More than can be on its way: every partition is led by others.
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=2_000)
        place.network.heal()
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
        load.finish()
    place.cluster.until_settled()
    check_numbered_through(place.cluster.bootstrap, topic, load.acknowledged)


def test_a_follower_that_its_leaders_have_lost_is_waited_for_and_then_left_behind(
    place: DistantCluster,
) -> None:
    place.cluster.create_topic(TOPIC, PARTITIONS)
    with NumberedLoad(place.cluster.bootstrap, TOPIC, PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
        one, other, _ = place.node_machines
        place.network.cut([one], [other])
        load.wait_for_progress(SHRINK_SECONDS_MAX, records=2_000)
        place.network.heal()
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
        load.finish()
    place.cluster.until_settled()
    check_numbered_through(place.cluster.bootstrap, TOPIC, load.acknowledged)
