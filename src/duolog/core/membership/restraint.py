"""Decides when a changed statement may be written, so that a flapping link costs the store little.

The first changes are written at once. Each further one soon after waits twice as long as the one
before, up to a limit. Pure.
"""

GAP_MS_MIN = 50
GAP_MS_MAX = 1_000
CALM_MS = 5_000
"""Time without a write after which the next ones are written at once again."""


class Restraint:
    def __init__(self) -> None:
        self._gap_ms = GAP_MS_MIN
        self._written_ms: int | None = None

    def wait_ms(self, now_ms: int) -> int:
        """Time until the next write may begin; 0 if now."""
        if self._written_ms is None:
            return 0
        return max(0, self._written_ms + self._gap_ms - now_ms)

    def wrote(self, now_ms: int) -> None:
        last_ms, self._written_ms = self._written_ms, now_ms
        if last_ms is None or now_ms - last_ms >= CALM_MS:
            self._gap_ms = GAP_MS_MIN
        else:
            self._gap_ms = min(2 * self._gap_ms, GAP_MS_MAX)
