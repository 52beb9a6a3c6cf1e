"""Sums of usage by key, with a limit on the number of keys."""

from collections.abc import Iterable, Iterator

from duolog.core.usage.keys import NOTHING, OTHER, Counts, UsageKey

KEYS_MAX = 8_192
"""Limit of keys; further ones are added together."""


class Totals:
    def __init__(self, rows: Iterable[tuple[UsageKey, Counts]] = ()) -> None:
        self._rows: dict[UsageKey, Counts] = {}
        self.add(rows)

    def add(self, rows: Iterable[tuple[UsageKey, Counts]]) -> None:
        for key, counts in rows:
            place = self._place_of(key)
            self._rows[place] = self._rows.get(place, NOTHING).plus(counts)

    def _place_of(self, key: UsageKey) -> UsageKey:
        if key in self._rows or len(self._rows) < KEYS_MAX:
            return key
        if key.folded in self._rows or len(self._rows) < 2 * KEYS_MAX:
            return key.folded
        return key.folded._replace(tenant=OTHER)

    def copy(self) -> "Totals":
        return Totals(self._rows.items())

    def __iter__(self) -> Iterator[tuple[UsageKey, Counts]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows)
