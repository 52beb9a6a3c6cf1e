"""One round: a cluster that is well is hurt, watched until it serves again, and put right."""

import time

from tests.harness.node import NodeFailed
from tests.heal.evidence import keep_evidence
from tests.heal.faults import Fault
from tests.heal.load import Load
from tests.heal.node_log import LONG_TURN, SUSPENDED, NodeLog
from tests.heal.outcome import LostLease, Outcome
from tests.heal.pace import Pace
from tests.heal.place import Place
from tests.heal.topic_ledger import Findings
from tests.heal.turns import LongTurns
from tests.heal.watch import Watch

LOOK_SECONDS = 0.05
SETTLE_SECONDS_MAX = 60.0
STEADY_SECONDS_MAX = 30.0
LEASE_SECONDS = 4.0
"""What was so long before a lease ended may be the cause."""
FRAMES_SHOWN = 6
NAMED_MAX = 6
"""Clients that are named where many are not served."""


class Rounds:
    """Rounds of a cluster and its load, one after the other."""

    def __init__(
        self, mode: str, place: Place, load: Load, watch: Watch, pace: Pace, bound: float
    ) -> None:
        """`bound`: seconds after which nobody waits any more for a cluster to serve."""
        self.mode = mode
        self._place = place
        self._load = load
        self._watch = watch
        self._pace = pace
        self._bound = bound
        self._known = Findings()
        self._nodes = place.cluster.nodes
        self._logs = {number: NodeLog(node.directory) for number, node in self._nodes.items()}

    def run(self, name: str, fault: Fault) -> Outcome:
        outcome = Outcome(self.mode, name)
        fault.prepare()
        self._until_calm(outcome)
        acknowledged = self._load.acknowledged
        refused = self._load.refusals
        turns = LongTurns(list(self._nodes.values()))
        began_wall, began = time.time(), time.monotonic()
        since = fault.begin()
        outcome.what = str(fault)
        ended = self._watch_fault(fault, since, outcome)
        self._supervise(fault, outcome)
        self._until_well(outcome)
        now = time.monotonic()
        outcome.back = max(self._load.timeline.silences(ended, now).values())
        outcome.acknowledged = self._load.acknowledged - acknowledged
        outcome.refusals = dict((self._load.refusals - refused).most_common())
        outcome.long_turns, outcome.longest_turn = turns.since()
        self._read_logs(outcome, began_wall, began, fault.victims)
        self.judge(outcome)
        return outcome

    def roll(self, name: str) -> Outcome:
        """A rolling restart: each node is stopped and started once all copies are in sync."""
        outcome = Outcome(self.mode, name, "nodes one after the other")
        self._until_calm(outcome)
        acknowledged = self._load.acknowledged
        refused = self._load.refusals
        turns = LongTurns(list(self._nodes.values()))
        began_wall, began = time.time(), time.monotonic()
        for number, node in self._nodes.items():
            since = time.monotonic()
            try:
                node.stop()
                node.start()
            except NodeFailed as error:
                outcome.problems.append(f"node {number}: {error}")
                node.kill()
                node.start()
            self._until_well(outcome)
            now = time.monotonic()
            outcome.silences.append(self._load.timeline.silences(since, now))
        longest = max(each for node in outcome.silences for each in node.values())
        outcome.gap, outcome.last = longest.seconds, str(longest.client)
        outcome.acknowledged = self._load.acknowledged - acknowledged
        outcome.refusals = dict((self._load.refusals - refused).most_common())
        outcome.long_turns, outcome.longest_turn = turns.since()
        # A node that is stopped loses no lease: whoever registers again is another one.
        self._read_logs(outcome, began_wall, began, set())
        outcome.suspensions.clear()
        self.judge(outcome)
        return outcome

    def _watch_fault(self, fault: Fault, since: float, outcome: Outcome) -> float:
        """Until everything is served, or the bound; returns when the fault was ended."""
        ended: float | None = None
        while True:
            now = time.monotonic()
            if ended is None and fault.seconds is not None and now - since >= fault.seconds:
                ended = now
                fault.end()
            if outcome.gap is None:
                self._look(fault, since, now, outcome)
            is_over = fault.seconds is None or ended is not None
            if is_over and (outcome.gap is not None or now - since >= self._bound):
                break
            time.sleep(LOOK_SECONDS)
        if outcome.gap is None:
            timeline = self._load.timeline
            awaited = timeline.unserved(since, now, self._pace.silence_seconds_max)
            outcome.last = f"{len(awaited)} clients: {', '.join(map(str, awaited[:NAMED_MAX]))}"
            self._note_delay(fault, since, now, outcome)
        if ended is None:
            ended = time.monotonic()
            fault.end()
        return ended

    def _note_delay(self, fault: Fault, since: float, now: float, outcome: Outcome) -> None:
        if not fault.starts_nodes:
            share = self._watch.delay_share(since, now)
            outcome.delay_share = max(outcome.delay_share, share)

    def _look(self, fault: Fault, since: float, now: float, outcome: Outcome) -> None:
        served = self._load.timeline.served(
            since, now, self._pace.silence_seconds_max, self._pace.steady_seconds
        )
        if served is not None:
            outcome.gap = served.seconds
            outcome.last = str(served.last)
            until = since + served.seconds
            outcome.cpu = self._watch.cpu(since, until)
            self._note_delay(fault, since, now, outcome)

    def _supervise(self, fault: Fault, outcome: Outcome) -> None:
        """Start again what has ended by itself, as a supervisor would."""
        for number, node in self._nodes.items():
            if not node.running:
                outcome.problems.append(f"node {number} ended by itself with code {node.wait()}")
                node.start()

    def _until_calm(self, outcome: Outcome) -> None:
        """Well, and how long event loops wait for CPU meanwhile."""
        since = time.monotonic()
        self._until_well(outcome)
        outcome.delay_share = self._watch.delay_share(since, time.monotonic())

    def _until_well(self, outcome: Outcome) -> None:
        """All copies are in sync, and all clients are served."""
        try:
            self._place.cluster.until_settled(SETTLE_SECONDS_MAX)
        except AssertionError as error:
            outcome.problems.append(str(error))
        since = time.monotonic()
        while not self._load.timeline.served(
            since, now := time.monotonic(), self._pace.silence_seconds_max, 1.0
        ):
            if now - since > STEADY_SECONDS_MAX:
                awaited = self._load.timeline.unserved(since, now, self._pace.silence_seconds_max)
                named = ", ".join(map(str, awaited[:NAMED_MAX]))
                outcome.problems.append(
                    f"{STEADY_SECONDS_MAX:.0f} s after all was well {len(awaited)} clients are"
                    f" not served: {named}"
                )
                break
            time.sleep(LOOK_SECONDS)

    def _read_logs(self, outcome: Outcome, wall: float, began: float, victims: set[int]) -> None:
        until = time.time()
        for number, log in self._logs.items():
            for at in log.leases_lost(wall, until):
                seconds = at - wall
                before, after = began + seconds - LEASE_SECONDS, began + seconds
                outcome.leases.append(
                    LostLease(
                        number,
                        seconds,
                        number in victims,
                        self._watch.etcd_seconds(before, after),
                        self._watch.lease_delay(number, before, after),
                    )
                )
            if number not in victims:
                outcome.suspensions[number] = len(log.lines(SUSPENDED, wall, until))
            for line in log.lines(LONG_TURN, wall, until):
                outcome.stacks.append(f"node {number}: {' < '.join(line.stack[:FRAMES_SHOWN])}")

    def judge(self, outcome: Outcome) -> None:
        """Compare what was acknowledged with what is there. Only what is new counts."""
        found = self._load.judge()
        known, self._known = self._known, found
        outcome.findings = Findings(
            max(0, found.lost - known.lost),
            max(0, found.doubled - known.doubled),
            max(0, found.out_of_order - known.out_of_order),
            [each for each in found.examples if each not in known.examples],
        )
        outcome.problems += self._load.failures
        if outcome.findings.total:
            keep_evidence(self._place, f"{outcome.fault}-{time.monotonic():.0f}")
