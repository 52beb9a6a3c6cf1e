import pytest
from tests.fakes.cluster_nodes import ManualClock, registration

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.controller.image_view import ImageView
from duolog.broker.membership.entries import STATEMENTS_PREFIX, decode_statement
from duolog.broker.membership.membership import Membership
from duolog.broker.membership.own_condition import OwnCondition
from duolog.broker.membership.own_statement import OwnStatement
from duolog.core.membership.restraint import CALM_MS, GAP_MS_MAX
from duolog.model.statement import Statement
from duolog.ports.metastore import Change, ChangeSet, StoreUnavailable


class Speaker:
    """A node with a statement, whose links a test sets."""

    def __init__(self, store, clock) -> None:
        self.store = store
        self.clock = clock
        self.unreachable: tuple[int, ...] = ()
        self.readers: tuple[int, ...] = ()
        self.rebalancing: tuple[int, ...] = ()
        self.condition = OwnCondition()
        self.membership = Membership(store, clock, registration(1), session_timeout_ms=600_000)
        self.statement = OwnStatement(
            store,
            clock,
            self.membership,
            self.condition,
            unreachable=lambda: self.unreachable,
            readers=lambda: self.readers,
            rebalancing=lambda: self.rebalancing,
        )

    async def entries(self):
        return (await self.store.range(STATEMENTS_PREFIX)).entries

    async def said(self) -> Statement:
        (entry,) = await self.entries()
        return decode_statement(entry)


@pytest.fixture
async def speaker():
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    speaker = Speaker(store, clock)
    await speaker.membership.register()
    yield speaker
    await store.close()


async def test_what_a_node_says_of_itself_is_in_the_store_at_once(speaker) -> None:
    speaker.unreachable, speaker.readers, speaker.rebalancing = (3,), (2,), (0, 7)
    speaker.condition.set_full(True)
    await speaker.statement.look()
    epoch = speaker.membership.epoch
    said = Statement(1, epoch, (3,), (2,), full=True, rebalancing=(0, 7))
    assert await speaker.said() == said


async def test_an_unchanged_statement_is_written_once(speaker) -> None:
    await speaker.statement.look()
    (first,) = await speaker.entries()
    speaker.clock.advance(10_000)
    await speaker.statement.look()
    assert await speaker.entries() == (first,)


async def test_a_statement_goes_with_its_node_and_is_made_anew_when_it_returns(speaker) -> None:
    await speaker.statement.look()
    await speaker.membership.leave()
    assert await speaker.entries() == ()
    await speaker.statement.look()
    assert await speaker.entries() == ()
    await speaker.membership.register()
    speaker.clock.advance(GAP_MS_MAX)
    await speaker.statement.look()
    assert (await speaker.said()).epoch == speaker.membership.epoch


async def test_a_run_that_was_replaced_says_nothing_any_more(speaker) -> None:
    other = Membership(speaker.store, speaker.clock, registration(1))
    await other.register()
    await speaker.statement.look()
    assert await speaker.entries() == ()


async def test_a_link_that_flaps_costs_a_write_a_second(speaker) -> None:
    revisions = set()
    for number in range(600):
        speaker.unreachable = (number,)
        await speaker.statement.look()
        revisions.add((await speaker.entries())[0].mod_revision)
        speaker.clock.advance(100)
    assert 60 <= len(revisions) <= 70
    speaker.clock.advance(CALM_MS)
    speaker.unreachable = ()
    await speaker.statement.look()
    assert (await speaker.said()).unreachable == ()


async def test_what_could_not_be_written_is_written_later(speaker, monkeypatch) -> None:
    transact = speaker.store.transact

    async def silent(compares, operations):
        raise StoreUnavailable("no answer")

    monkeypatch.setattr(speaker.store, "transact", silent)
    await speaker.statement.look()
    monkeypatch.setattr(speaker.store, "transact", transact)
    speaker.clock.advance(GAP_MS_MAX)
    await speaker.statement.look()
    assert (await speaker.said()).node == 1


async def test_the_controller_reads_statements_and_forgets_those_of_nodes_that_went(
    speaker,
) -> None:
    await speaker.statement.look()
    (entry,) = await speaker.entries()
    view = ImageView({})
    view.replay_statements(ChangeSet(1, (Change(entry.key, entry),)))
    assert view.image().statements == {1: await speaker.said()}
    view.replay_statements(ChangeSet(2, (Change(entry.key, None),)))
    assert view.image().statements == {}
