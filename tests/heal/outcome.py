"""What one fault cost, once."""

from dataclasses import dataclass, field

from tests.heal.timeline import Silence
from tests.heal.topic_ledger import Findings


@dataclass
class LostLease:
    node: int
    seconds: float
    """After the fault."""
    was_hurt: bool
    etcd_seconds: float | None
    """The longest answer of etcd in the seconds before; None if one did not come in a second."""
    lease_delay: float
    """For so long its lease thread had no CPU in the seconds before."""

    @property
    def is_excused(self) -> bool:
        return self.was_hurt or self.etcd_seconds is None or self.lease_delay > 1.0

    def __str__(self) -> str:
        etcd = "did not answer within 1 s"
        if self.etcd_seconds is not None:
            etcd = f"answered within {self.etcd_seconds * 1000:.0f} ms"
        hurt = ", which was hurt," if self.was_hurt else ""
        return (
            f"node {self.node}{hurt} lost its lease {self.seconds:.1f} s after the fault; etcd"
            f" {etcd}; its lease thread had waited {self.lease_delay:.2f} s for CPU"
        )


@dataclass
class Outcome:
    mode: str
    fault: str
    what: str = ""
    skipped: str = ""
    """Why the fault could not be had."""
    gap: float | None = None
    """Seconds from the fault until everything was served; None: not in time."""
    last: str = ""
    """Client that was served last, or those that were not."""
    back: Silence | None = None
    """Longest time without an answer for any client once the fault is over."""
    silences: list[dict[str, Silence]] = field(default_factory=list)
    """Of a rolling restart: per node, by kind of client, the longest time without an answer."""
    leases: list[LostLease] = field(default_factory=list)
    suspensions: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 0
    findings: Findings = field(default_factory=Findings)
    cpu: float | None = None
    delay_share: float = 0.0
    """Share of the time for which an event loop was kept from running."""
    long_turns: int = 0
    longest_turn: float | None = None
    """Seconds of CPU, where nodes tell it."""
    stacks: list[str] = field(default_factory=list)
    refusals: dict[str, int] = field(default_factory=dict)
    """What clients were told instead of an answer, and how often."""
    problems: list[str] = field(default_factory=list)
    """Anything else that must not be: a node that ended, a client that did."""
    is_repeated: bool = False
    """The machine was not idle, so that the round does not count."""

    @property
    def failed(self) -> bool:
        return bool(self.findings.total or self.problems or (self.gap is None and not self.skipped))
