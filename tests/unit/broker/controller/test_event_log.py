import pytest
from tests.fakes.cluster_nodes import ManualClock

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.controller.event_log import EventLog, read_events, trim
from duolog.core.controller.events import Event
from duolog.ports.metastore import StoreUnavailable


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


def event(number: int) -> Event:
    return Event(1_700_000_000_000, "leader elected", f"orders-{number}", "Node 2 leads.")


async def test_events_are_read_in_the_order_in_which_they_happened(store) -> None:
    log = EventLog(store, node=3)
    log.add([event(number) for number in range(300)])
    await log.written()
    assert [each.subject for each in await read_events(store)] == [
        f"orders-{number}" for number in range(300)
    ]


async def test_an_event_without_an_answer_is_in_the_log_once(store, monkeypatch) -> None:
    monkeypatch.setattr("duolog.broker.controller.event_log._RETRY_S", 0)
    transact = store.transact
    answers = iter((False, True))

    async def sometimes(compares, operations):
        result = await transact(compares, operations)
        if not next(answers):
            raise StoreUnavailable("no answer")
        return result

    monkeypatch.setattr(store, "transact", sometimes)
    log = EventLog(store, node=3)
    log.add([event(1)])
    await log.written()
    assert await read_events(store) == [event(1)]


async def test_only_the_newest_are_kept(store) -> None:
    log = EventLog(store, node=3)
    log.add([event(number) for number in range(300)])
    await log.written()
    await trim(store, kept_max=10)
    kept = await read_events(store)
    assert [each.subject for each in kept] == [f"orders-{number}" for number in range(290, 300)]
