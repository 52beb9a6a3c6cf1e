"""Violations that the oracles have found."""

from collections.abc import Callable


class Verdict:
    VIOLATIONS_MAX = 8
    """Limit of violations kept: further ones add nothing to the first."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self.violations: list[str] = []

    def violated(self, rule: str, what: str) -> None:
        if len(self.violations) < self.VIOLATIONS_MAX:
            self.violations.append(f"{self._now_ns() / 1e9:10.6f} {rule}: {what}")
