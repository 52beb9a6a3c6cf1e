import pytest
from tests.fakes.cluster_nodes import ManualClock, eventually, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.entries import (
    CONTROLLER_EPOCH,
    CONTROLLER_LEADER,
    LOAD_PREFIX,
    ControllerLeader,
    decode_load,
    encode,
    node_key,
)
from duolog.broker.membership.load_report import LoadReporter
from duolog.broker.membership.membership import Membership
from duolog.core.membership.load_meter import Totals
from duolog.model.cluster import NodeRecord
from duolog.ports.metastore import Delete, Put


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


@pytest.fixture
async def view(store):
    view = ClusterView(store)
    yield view
    await view.stop()


async def joined(store, node: int, **changes: object) -> Membership:
    membership = Membership(store, ManualClock(), registration(node, **changes))
    await membership.register()
    return membership


async def test_it_knows_who_is_alive_and_is_told_of_changes(store, view) -> None:
    first = await joined(store, 1)
    told = []
    view.subscribe(lambda node, live: told.append((node, live and live.epoch)))
    await view.start()
    assert view.live[1].epoch == first.epoch
    second = await joined(store, 2)
    await eventually(lambda: 2 in view.live)
    await second.leave()
    await eventually(lambda: 2 not in view.live)
    assert told == [(1, first.epoch), (2, second.epoch), (2, None)]


async def test_it_knows_where_the_doors_of_a_node_are(store, view) -> None:
    await joined(store, 1, peer="[::1]:9326", sqs="")
    await view.start()
    assert view.address_of(1, "kafka") == ("127.0.0.1", 9001)
    assert view.address_of(1, "peer") == ("::1", 9326)
    assert view.address_of(1, "sqs") is None
    assert view.address_of(2, "kafka") is None


async def test_a_node_that_drains_is_shown_as_such(store, view) -> None:
    await joined(store, 1)
    await view.start()
    assert not view.live[1].draining
    record = NodeRecord(1, "directory of 1", draining=True)
    await store.transact([], [Put(node_key(1), encode(record))])
    await eventually(lambda: view.live[1].draining)


async def test_it_knows_the_controller_and_what_to_compare(store, view) -> None:
    await view.start()
    told = []
    view.controller_listeners.append(lambda: told.append(view.controller))
    assert (view.controller, view.controller_epoch_revision) == (None, 0)
    leader = encode(ControllerLeader(3, "3.1"))
    result = await store.transact([], [Put(CONTROLLER_LEADER, leader), Put(CONTROLLER_EPOCH, b"4")])
    await eventually(lambda: view.controller == 3)
    assert (view.controller_epoch, view.controller_epoch_revision) == (4, result.revision)
    await store.transact([], [Delete(CONTROLLER_LEADER)])
    await eventually(lambda: view.controller is None)
    assert view.controller_epoch_revision == result.revision
    assert told == [3, None]


async def test_a_load_report_lives_as_long_as_its_node(store) -> None:
    membership = await joined(store, 1)
    reporter = LoadReporter(store, ManualClock(), membership, Totals)
    await reporter.report()
    (entry,) = (await store.range(LOAD_PREFIX)).entries
    assert decode_load(entry).node == 1
    await membership.leave()
    assert (await store.range(LOAD_PREFIX)).entries == ()
    await reporter.report()
    assert (await store.range(LOAD_PREFIX)).entries == ()
