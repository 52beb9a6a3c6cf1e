"""Price lists as people write them."""

from datetime import date
from decimal import Decimal

import pytest

from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.price_list import parse_price_list
from duolog_pipelines.errors import InvalidInput

GOOD = """\
currency = "EUR"

[[list]]
from = 2026-01-01

[list.send]
per_million_requests = 0.40
free_requests = 1_000_000
per_million_messages = "0.1"   # a text is a number, too

[list.store]
per_gb_month = 0.08

[[list]]
from = 2026-07-01

[list.send]
per_million_requests = 0.50
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_prices_are_exact_and_hold_from_their_date_on() -> None:
    prices = parse_price_list(GOOD, "p.toml")
    assert (prices.currency, prices.decimals) == ("EUR", 2)
    first, second = prices.lists
    assert [(each.sku, each.amount, each.free) for each in first.by_operation["send"]] == [
        ("send.requests", Decimal("0.40"), Decimal(1_000_000)),
        ("send.messages", Decimal("0.1"), Decimal(0)),
    ]
    assert prices.at(Period(2026, 6)) is first
    assert prices.at(Period(2026, 7)) is second is prices.at(Period(2030, 1))
    assert second.valid_from == date(2026, 7, 1)


def test_a_month_before_the_first_list_has_no_prices() -> None:
    with pytest.raises(InvalidInput, match="begins on 2026-01-01, after 2025-12 has begun"):
        parse_price_list(GOOD, "p.toml").at(Period(2025, 12))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (changed('"EUR"', '"euro"'), 1, "currency has to be three letters"),
        (changed('currency = "EUR"', ""), 1, "currency has to be three letters"),
        (changed('"EUR"', '"EUR"\ndecimals = 9'), 2, "decimals has to be 0 to 4"),
        (changed('"EUR"', '"EUR"\ncolour = 9'), 2, "'colour' is not a known key"),
        (changed("from = 2026-01-01", 'from = "soon"'), 4, "from has to be a date"),
        (changed("from = 2026-01-01", "from = 2026-01-15"), 4, "has to begin with a month"),
        (changed("from = 2026-07-01", "from = 2025-07-01"), 15, "is not after 2026-01-01"),
        (changed("[list.store]", "[list.stroe]"), 11, "there is no operation 'stroe'"),
        (changed("per_gb_month", "per_tb_month"), 12, "'per_tb_month' is no price"),
        (changed("0.08", "-1"), 12, "per_gb_month has to be from 0 to"),
        (changed("0.08", "nan"), 12, "per_gb_month has to be from 0 to"),
        (changed("0.08", "true"), 12, "per_gb_month has to be a number"),
        (changed("0.08", '"dear"'), 12, "per_gb_month has to be a number, not 'dear'"),
        (changed("0.08", "0.0000000000001"), 12, "more than 12 digits"),
        (changed("per_gb_month = 0.08", "free_gb = 1"), 12, "per_gb is missing"),
        (changed("[list.store]", "[[list.store]]"), 11, "store has to be a table of prices"),
        ('currency = "EUR"\n', 1, "there has to be a table"),
    ],
)
def test_an_invalid_list_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_price_list(text, "p.toml")
    assert str(refused.value).startswith(f"The price list p.toml, line {line}: ")
    assert said in str(refused.value)


def test_what_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"p\.toml is no TOML: .*line 12"):
        parse_price_list(changed("0.08", "0,08"), "p.toml")
