"""Consumer groups that grow and shrink while records arrive."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.drivers import aio, confluent, python
from tests.harness.drivers.ledger import DeliveryLedger
from tests.harness.drivers.member import GroupMember

PARTITIONS = 6
SECONDS_MAX = 30.0
MEMBERS = [
    pytest.param(confluent.Member, id="confluent_range"),
    pytest.param(confluent.CooperativeMember, id="confluent_cooperative"),
    pytest.param(aio.Member, id="aiokafka"),
    pytest.param(python.Member, id="kafka_python"),
]


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not after {SECONDS_MAX:.0f} s"
        time.sleep(0.02)


@contextmanager
def steady_producer(address: str, topic: str) -> Iterator[list[bytes]]:
    """Produces about a thousand numbered records a second; yields those acknowledged so far."""
    acknowledged: list[bytes] = []
    stopping = Event()

    def produce() -> None:
        producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})

        def delivered(error: KafkaError | None, record: object) -> None:
            assert error is None, error
            acknowledged.append(record.value())  # type: ignore[attr-defined]

        number = 0
        while not stopping.is_set():
            for _ in range(10):
                producer.produce(
                    topic, b"%d" % number, partition=number % PARTITIONS, on_delivery=delivered
                )
                number += 1
            producer.poll(0)
            time.sleep(0.01)
        assert producer.flush(SECONDS_MAX) == 0

    thread = Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield acknowledged
    finally:
        stopping.set()
        thread.join(SECONDS_MAX)


def shares(members: list[GroupMember]) -> list[int]:
    """How many partitions each member has, if together they have all of them once."""
    for member in members:
        assert member.failure is None, member.failure
    assigned = [partition for member in members for partition in member.assigned]
    if sorted(assigned) != list(range(PARTITIONS)):
        return []
    return sorted(len(member.assigned) for member in members)


@pytest.mark.parametrize("new_member", MEMBERS)
def test_nothing_is_lost_or_repeated_while_a_group_grows_and_shrinks(
    address: str,
    admin: AdminClient,
    topic: str,
    group: str,
    new_member: Callable[[str, str, str, DeliveryLedger], GroupMember],
) -> None:
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(10)
    ledger = DeliveryLedger()
    members: list[GroupMember] = []
    with steady_producer(address, topic) as acknowledged:
        members.append(new_member(address, group, topic, ledger))
        wait_until(lambda: shares(members) == [6], "one member has everything")
        members += [new_member(address, group, topic, ledger) for _ in range(2)]
        wait_until(lambda: shares(members) == [2, 2, 2], "three members share")
        time.sleep(0.3)
        members.pop(0).leave()
        wait_until(lambda: shares(members) == [3, 3], "two members share")
    wait_until(lambda: set(acknowledged) <= ledger.values.keys(), "everything is delivered")
    for member in members:
        member.leave()
    assert ledger.repeated == []
    assert [value for value, count in ledger.values.items() if count > 1] == []
    assert ledger.values.keys() == set(acknowledged)


def test_a_member_that_dies_is_replaced_and_only_uncommitted_records_come_again(
    address: str, admin: AdminClient, topic: str, group: str
) -> None:
    admin.create_topics([NewTopic(topic, 1)])[topic].result(10)
    producer = Producer({"bootstrap.servers": address})
    for each in range(10):
        producer.produce(topic, b"%d" % each)
    producer.flush(10)
    configuration = {
        "bootstrap.servers": address,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 300,
        # A member that stops polling leaves by itself: to the group it is as good as dead.
        "max.poll.interval.ms": 6_000,
    }
    first = Consumer(configuration)
    first.subscribe([topic])
    for each in range(6):
        record = first.poll(SECONDS_MAX)
        assert record is not None
        if each == 3:
            first.commit(record, asynchronous=False)
    second = Consumer(configuration)
    second.subscribe([topic])
    record = second.poll(SECONDS_MAX)
    assert record is not None
    assert record.offset() == 4
    second.close()
    first.close()


def test_a_static_member_restarts_without_a_rebalance(
    address: str, admin: AdminClient, topic: str, group: str
) -> None:
    admin.create_topics([NewTopic(topic, 4)])[topic].result(10)
    rebalances = 0

    def rebalanced(*_: object) -> None:
        nonlocal rebalances
        rebalances += 1

    def member(name: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "group.instance.id": name,
                "session.timeout.ms": 45_000,
                "heartbeat.interval.ms": 300,
            }
        )

    stays, leaves = member("stays"), member("leaves")
    stays.subscribe([topic], on_assign=rebalanced, on_revoke=rebalanced)
    leaves.subscribe([topic])

    def balanced() -> bool:
        stays.poll(0.05)
        leaves.poll(0.05)
        return len(stays.assignment()) == len(leaves.assignment()) == 2

    wait_until(balanced, "two static members share")
    kept = sorted(each.partition for each in leaves.assignment())
    rebalances = 0
    leaves.close()
    leaves = member("leaves")
    leaves.subscribe([topic])
    wait_until(balanced, "the restarted member is back")
    assert sorted(each.partition for each in leaves.assignment()) == kept
    assert rebalances == 0
    (described,) = (admin.describe_consumer_groups([group])[group].result(10) for _ in range(1))
    assert {each.group_instance_id for each in described.members} == {"stays", "leaves"}
    stays.close()
    leaves.close()
