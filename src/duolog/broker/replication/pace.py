"""Rate limit of filling the replicas that a reassignment adds, over all leaders."""


class Pace:
    def __init__(self, bytes_per_second: int) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0

    def free_at(self, copied_bytes: int, now: float) -> float:
        """Accounts for copied bytes; returns the time, on `now`'s clock, of the next fetch."""
        self._free_at = max(self._free_at, now) + copied_bytes / self._bytes_per_second
        return self._free_at
