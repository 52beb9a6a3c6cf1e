import pytest
from tests.fakes.cluster_nodes import ManualClock, eventually, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.departures import Departures
from duolog.broker.membership.entries import broker_key
from duolog.broker.membership.membership import Membership
from duolog.ports.metastore import StoreUnavailable


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


@pytest.fixture
async def view(store):
    view = ClusterView(store)
    await view.start()
    yield view
    await view.stop()


async def member(store, view: ClusterView) -> Membership:
    membership = Membership(store, ManualClock(), registration(2))
    await membership.register()
    await eventually(lambda: 2 in view.live and view.live[2].epoch == membership.epoch)
    return membership


async def test_the_lease_of_a_node_that_has_ended_ends_at_once(store, view) -> None:
    await member(store, view)
    Departures(store, view).noticed(2)
    await eventually(lambda: 2 not in view.live)


async def test_a_node_that_was_taken_for_gone_by_mistake_registers_again(store, view) -> None:
    membership = await member(store, view)
    first_epoch = membership.epoch
    Departures(store, view).noticed(2)
    await eventually(lambda: 2 not in view.live)
    await membership.renew()
    membership.check()
    assert not membership.is_serving
    await membership.register()
    assert membership.is_serving
    assert membership.epoch > first_epoch


async def test_one_that_came_back_meanwhile_keeps_its_lease(store, view, monkeypatch) -> None:
    membership = await member(store, view)
    departures = Departures(store, view)
    departures.noticed(2)
    await membership.register()
    await eventually(lambda: not departures._ending)
    entry = await store.get(broker_key(2))
    assert entry is not None
    assert entry.lease == membership.lease


async def test_nothing_is_known_of_a_node_that_is_not_registered(store, view) -> None:
    departures = Departures(store, view)
    departures.noticed(3)
    assert not departures._ending


async def test_a_store_that_does_not_answer_is_left_to_end_the_lease(
    store, view, monkeypatch
) -> None:
    await member(store, view)

    async def silent(key):
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(store, "get", silent)
    departures = Departures(store, view)
    departures.noticed(2)
    (ending,) = departures._ending.values()
    await ending
    assert 2 in view.live
