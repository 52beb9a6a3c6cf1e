"""A meter in memory, and what it has counted."""

from tests.fakes.counter_files import FakeCounterFiles
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.broker.usage.meter import Meter

TENANT = "123456789012"


class FakeMeter(Meter):
    def __init__(self) -> None:
        super().__init__(
            TENANT,
            FakeCounterFiles(),
            FakeDisk(),
            SetClock(),
            interval_ms=5_000,
            sequence=0,
            may_cut=lambda: True,
            on_closed=lambda sequence, file: None,
        )

    @property
    def counted(self) -> dict[tuple[str, str, str], tuple[int, int, int, int]]:
        """Requests, messages, bytes and errors, by kind, resource and operation."""
        return {
            (key.kind, key.resource, key.operation): (
                counts.requests,
                counts.messages,
                counts.bytes,
                counts.errors,
            )
            for key, counts in self.totals()
        }
