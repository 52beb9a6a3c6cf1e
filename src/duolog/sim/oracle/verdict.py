"""What was found wrong."""

from collections.abc import Callable


class Verdict:
    VIOLATIONS_MAX = 8
    """More say nothing that the first ones do not."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self.violations: list[str] = []

    def violated(self, rule: str, what: str) -> None:
        if len(self.violations) < self.VIOLATIONS_MAX:
            self.violations.append(f"{self._now_ns() / 1e9:10.6f} {rule}: {what}")
