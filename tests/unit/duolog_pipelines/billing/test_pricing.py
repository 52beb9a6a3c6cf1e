"""What usage costs."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import parse_price_list
from duolog_pipelines.billing.pricing import (
    Subject,
    adjustments,
    charges,
    merged,
    with_roundings,
)

PRICES = parse_price_list(
    """
currency = "EUR"
[[list]]
from = 2026-01-01
[list.send]
per_million_requests = 0.40
free_requests = 1000
per_million_messages = 3
[list.fetch]
per_gb = 0.09
[list.store]
per_gb_month = 0.10
""",
    "test",
).lists[0]
OCTOBER = Period(2026, 10)
SEND = Subject("acme", "queue", "orders", "send")
OTHER_SEND = SEND._replace(resource="mails")
STORE = SEND._replace(operation="store")

counts = st.fixed_dictionaries(
    {"requests": st.integers(0, 10**9), "messages": st.integers(0, 10**12)}
)
used = st.dictionaries(st.sampled_from([SEND, OTHER_SEND]), counts)


def cost(made: list) -> Decimal:  # type: ignore[type-arg]
    return sum((charge.cost for charge in made), Decimal(0))


def test_each_operation_is_priced_by_what_its_prices_are_for() -> None:
    made = charges(OCTOBER, {SEND: {"messages": 7}}, PRICES)
    assert [(each.price.sku, each.quantity, each.cost) for each in made if each.price] == [
        ("send.messages", Decimal(7), Decimal("0.000021"))
    ]
    fetched = charges(OCTOBER, {SEND._replace(operation="fetch"): {"bytes": 1}}, PRICES)
    assert cost(fetched) == Decimal("0.00000000009")
    assert charges(OCTOBER, {SEND._replace(operation="delete"): {"messages": 7}}, PRICES) == []


def test_a_gigabyte_that_lies_there_all_month_is_one_gb_month() -> None:
    for month in (Period(2026, 2), OCTOBER):
        made = charges(month, {STORE: {"byte_seconds": 10**9 * month.seconds}}, PRICES)
        assert (made[0].quantity, made[0].cost) == (Decimal(1), Decimal("0.1"))


def test_what_is_free_is_taken_off_once_for_all_resources_of_a_tenant() -> None:
    made = charges(OCTOBER, {SEND: {"requests": 600}, OTHER_SEND: {"requests": 900}}, PRICES)
    assert [(each.category, each.resource, each.quantity) for each in made] == [
        ("Credit", None, Decimal(-1000)),
        ("Usage", "mails", Decimal(900)),
        ("Usage", "orders", Decimal(600)),
    ]
    assert cost(made) == 500 * Decimal("0.40") / 10**6
    others = SEND._replace(tenant="other")
    assert cost(charges(OCTOBER, {others: {"requests": 999}}, PRICES)) == 0


@given(used, used)
def test_late_usage_costs_exactly_what_it_would_have_cost_in_time(before: dict, late: dict) -> None:  # type: ignore[type-arg]
    in_time = cost(charges(OCTOBER, merged(before, late), PRICES))
    billed = cost(charges(OCTOBER, before, PRICES))
    assert cost(adjustments(OCTOBER, before, late, PRICES)) == in_time - billed


def test_an_adjustment_says_what_it_is_for() -> None:
    (made,) = adjustments(OCTOBER, {}, {SEND: {"messages": 1_000_000}}, PRICES)
    assert (made.category, made.charge_period, made.cost) == ("Adjustment", OCTOBER, Decimal(3))
    assert made.description == "Late for 2026-10: Messages of send, queue orders"
    assert adjustments(OCTOBER, {SEND: {"messages": 5}}, {SEND: {"messages": 0}}, PRICES) == []


@given(used)
def test_an_invoice_is_the_sum_of_its_charges_to_the_cent(usage: dict) -> None:  # type: ignore[type-arg]
    made = charges(OCTOBER, usage, PRICES)
    every, owed = with_roundings(made, OCTOBER, "EUR", 2)
    assert cost(every) == owed.get("acme", 0)
    assert abs(cost(every) - cost(made)) <= Decimal("0.005")
    assert all(amount == amount.quantize(Decimal("0.01")) for amount in owed.values())


def test_the_order_of_what_comes_does_not_matter() -> None:
    usage = {SEND: {"requests": 5_000}, OTHER_SEND: {"requests": 9, "messages": 7}}
    turned = dict(reversed(usage.items()))
    assert charges(OCTOBER, usage, PRICES) == charges(OCTOBER, turned, PRICES)
