from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from duolog_pipelines.demo.outcome import Found, checks, summary
from duolog_pipelines.demo.plan import Plan, planned

seeds = st.integers(0, 1 << 32)


def right(plan: Plan) -> Found:
    return Found(
        losses=plan.losses,
        duplicates=plan.duplicates,
        billed_messages=plan.sent,
        archived=plan.sent,
        replayed=plan.sent_to_topic,
        deleted=plan.sent_to_queue - plan.poisoned - plan.left,
        dead_lettered=plan.poisoned,
        still_there=plan.left,
        unaccounted=0,
    )


@given(seeds, st.integers(100, 500))
def test_what_is_planted_is_what_is_sent_otherwise(seed: int, messages: int) -> None:
    for sending in planned(messages, Random(seed)).sendings:
        sent = Counter(sending.numbers)
        assert set(range(1, messages + 1)) - set(sent) == sending.losses
        assert {number for number, times in sent.items() if times > 1} == sending.duplicates
        assert max(sent.values()) <= 2
        assert sending.losses
        assert sending.duplicates


@given(seeds)
def test_nothing_is_planted_where_nobody_could_see_it(seed: int) -> None:
    """A loss before the first message, or behind the last one, leaves no gap."""
    for sending in planned(200, Random(seed)).sendings:
        assert {1, 200} <= set(sending.numbers)


@given(seeds)
def test_a_seed_plants_the_same_again(seed: int) -> None:
    assert planned(200, Random(seed)) == planned(200, Random(seed))


def test_all_is_well_when_everything_was_found() -> None:
    plan = planned(200, Random(1))
    assert all(check.holds for check in checks(plan, right(plan)))


def test_each_wrong_number_is_noticed() -> None:
    plan = planned(200, Random(1))
    for place, name in enumerate(Found._fields):
        found = right(plan)
        wrong = found._replace(**{name: found[place] + 1})
        assert [check.holds for check in checks(plan, wrong)].count(False) == 1


def test_programs_are_told_what_was_planted_and_what_was_found() -> None:
    plan = planned(200, Random(1))
    assert summary(plan, right(plan)) == {
        "sent": plan.sent,
        "planted_losses": plan.losses,
        "found_losses": plan.losses,
        "planted_duplicates": plan.duplicates,
        "found_duplicates": plan.duplicates,
        "billed_messages": plan.sent,
        "archived": plan.sent,
        "replayed": plan.sent_to_topic,
    }
