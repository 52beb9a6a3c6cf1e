"""A price list, from TOML. Pure.

    currency = "EUR"

    [[list]]
    from = 2026-01-01
    [list.send]
    per_million_requests = 0.40
    free_requests = 1000000
    [list.store]
    per_gb_month = 0.08

Each list holds from its date on, until the next one begins. Operations that it does not name
are free.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, NoReturn

from duolog.model.usage import OPERATIONS
from duolog_pipelines.billing.key_lines import Path, key_lines, line_of
from duolog_pipelines.billing.meters import BY_FREE_KEY, BY_PRICE_KEY, Meter
from duolog_pipelines.billing.period import Period
from duolog_pipelines.errors import InvalidInput

DECIMALS_MAX = 4
AMOUNT_MAX = Decimal(10) ** 12
"""Limit of prices and free quantities; more is a typing error."""
PLACES_MAX = 12
"""Limit of a price's digits behind the decimal point."""
_TOP_KEYS = ("currency", "decimals", "list")


@dataclass(frozen=True)
class Price:
    operation: str
    meter: Meter
    amount: Decimal
    """Price of one pricing unit."""
    free: Decimal
    """Free units of consumption, for each tenant and month."""

    @property
    def sku(self) -> str:
        return f"{self.operation}.{self.meter.name}"


@dataclass(frozen=True)
class Prices:
    """One list of prices, valid from its date on."""

    valid_from: date
    by_operation: Mapping[str, tuple[Price, ...]]


@dataclass(frozen=True)
class PriceList:
    text: str
    """The text as written, kept with everything computed from it."""
    currency: str
    decimals: int
    """Decimals of an amount owed."""
    lists: tuple[Prices, ...]
    """Lists, in the order of their dates."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def at(self, period: Period) -> Prices:
        """Prices valid when the period begins. InvalidInput if there are none."""
        holding = [each for each in self.lists if each.valid_from <= period.start.date()]
        if not holding:
            raise InvalidInput(
                f"The price list begins on {self.lists[0].valid_from}, after {period} has begun."
                " Add a list that holds then."
            )
        return holding[-1]


def parse_price_list(text: str, name: str) -> PriceList:
    """Parse a price list; errors call it `name` and give the line. Raises InvalidInput."""
    try:
        told = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"The price list {name} is no TOML: {error}. Correct it.") from None
    return _Reading(text, name).price_list(told)


class _Reading:
    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._lines = key_lines(text)

    def price_list(self, told: dict[str, Any]) -> PriceList:
        for key in told:
            if key not in _TOP_KEYS:
                self._refuse((key,), f"'{key}' is not a known key; known are {_named(_TOP_KEYS)}")
        currency = told.get("currency")
        if not (isinstance(currency, str) and len(currency) == 3 and currency.isupper()):
            self._refuse(("currency",), 'currency has to be three letters, such as "EUR"')
        decimals = told.get("decimals", 2)
        if type(decimals) is not int or not 0 <= decimals <= DECIMALS_MAX:
            self._refuse(("decimals",), f"decimals has to be 0 to {DECIMALS_MAX}")
        lists = told.get("list")
        if not isinstance(lists, list) or not lists:
            self._refuse(("list",), "there has to be a table [[list]]")
        read = [self._prices(each, ("list", index)) for index, each in enumerate(lists)]
        for index, (one, other) in enumerate(pairwise(read), 1):
            if other.valid_from <= one.valid_from:
                before = f"{one.valid_from}, where the list before it begins"
                self._refuse(("list", index, "from"), f"{other.valid_from} is not after {before}")
        return PriceList(self._text, currency, decimals, tuple(read))

    def _prices(self, told: Any, path: Path) -> Prices:
        if not isinstance(told, dict):
            self._refuse(path, "a list has to be a table")
        begin = told.get("from")
        if not isinstance(begin, date) or isinstance(begin, datetime):
            self._refuse((*path, "from"), "from has to be a date, such as 2026-01-01")
        if begin.day != 1:
            self._refuse((*path, "from"), "a list has to begin with a month, which has one bill")
        by_operation = {}
        for operation, table in told.items():
            if operation == "from":
                continue
            if operation not in OPERATIONS:
                what = f"there is no operation '{operation}'; there are {_named(OPERATIONS)}"
                self._refuse((*path, operation), what)
            by_operation[operation] = self._operation(operation, table, (*path, operation))
        return Prices(begin, by_operation)

    def _operation(self, operation: str, told: Any, path: Path) -> tuple[Price, ...]:
        if not isinstance(told, dict):
            self._refuse(path, f"{operation} has to be a table of prices")
        for key in told:
            if key not in BY_PRICE_KEY and key not in BY_FREE_KEY:
                what = f"'{key}' is no price; there are {_named([*BY_PRICE_KEY, *BY_FREE_KEY])}"
                self._refuse((*path, key), what)
        for key, meter in BY_FREE_KEY.items():
            if key in told and meter.price_key not in told:
                what = f"{key} needs a price; {meter.price_key} is missing"
                self._refuse((*path, key), what)
        return tuple(
            Price(
                operation,
                meter,
                self._amount(told[key], (*path, key)),
                self._amount(told.get(meter.free_key, 0), (*path, meter.free_key)),
            )
            for key, meter in BY_PRICE_KEY.items()
            if key in told
        )

    def _amount(self, value: Any, path: Path) -> Decimal:
        """Parse an amount, given as a number or as a text."""
        key = path[-1]
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            self._refuse(path, f"{key} has to be a number")
        try:
            amount = Decimal(value)
        except ArithmeticError:
            self._refuse(path, f"{key} has to be a number, not '{value}'")
        if not amount.is_finite() or amount < 0 or amount > AMOUNT_MAX:
            self._refuse(path, f"{key} has to be from 0 to {AMOUNT_MAX}")
        exponent = amount.as_tuple().exponent
        if isinstance(exponent, int) and -exponent > PLACES_MAX:
            self._refuse(path, f"{key} has more than {PLACES_MAX} digits behind the point")
        return amount

    def _refuse(self, path: Path, what: str) -> NoReturn:
        line = line_of(self._lines, path)
        raise InvalidInput(f"The price list {self._name}, line {line}: {what}. Correct it.")


def _named(words: Any) -> str:
    return ", ".join(words)
