from tests.heal.goals import goals
from tests.heal.outcome import LostLease, Outcome
from tests.heal.report import round_lines, table
from tests.heal.timeline import Client, Silence
from tests.heal.topic_ledger import Findings


def outcome(gap: float | None, *, fault: str = "kill", mode: str = "idle") -> Outcome:
    return Outcome(mode, fault, gap=gap, last="receive orders", cpu=1.0)


def missed(mode: str, fault: str, outcomes: list[Outcome]) -> list[str]:
    return [goal.text for goal in goals(mode, fault, outcomes) if not goal.is_reached]


def test_gaps_within_their_limits_reach_all_goals() -> None:
    assert missed("idle", "kill", [outcome(1.0), outcome(1.9), outcome(9.9)]) == []


def test_a_long_median_and_a_long_worst_gap_are_missed_goals() -> None:
    assert missed("idle", "kill", [outcome(2.1), outcome(10.1), outcome(2.2)]) == [
        "median 2.2 s (at most 2 s)",
        "worst 10.1 s (at most 10 s)",
    ]


def test_a_round_that_is_not_served_misses_both() -> None:
    assert len(missed("busy", "freeze", [outcome(1.0), outcome(None)])) == 2


def test_a_lease_lost_without_a_reason_is_a_missed_goal() -> None:
    lost = outcome(1.0)
    lost.leases = [LostLease(2, 3.0, False, 0.01, 0.2)]
    assert missed("idle", "kill", [lost]) == ["1 leases lost without a reason (none)"]


def test_a_lease_of_who_was_hurt_or_waited_for_etcd_or_cpu_has_a_reason() -> None:
    assert LostLease(1, 3.0, True, 0.01, 0.0).is_excused
    assert LostLease(1, 3.0, False, None, 0.0).is_excused
    assert LostLease(1, 3.0, False, 0.01, 1.1).is_excused


def test_each_kind_and_node_counts_in_a_rolling_restart() -> None:
    rolled = Outcome("idle", "rolling", gap=3.5)
    client = Client("produce", "numbers/0")
    rolled.silences = [
        {"produce": Silence(0.4, client), "send": Silence(0.4, client)},
        {"produce": Silence(3.5, client), "send": Silence(0.5, client)},
    ]
    assert missed("idle", "rolling", [rolled]) == ["worst 3.5 s (at most 3 s)"]


def test_a_round_fails_for_broken_promises_and_for_no_service() -> None:
    assert not outcome(59.0).failed
    assert outcome(None).failed
    doubled = outcome(1.0)
    doubled.findings = Findings(doubled=1)
    assert doubled.failed
    assert not Outcome("idle", "one-way", skipped="takes root").failed


def test_a_skipped_fault_is_said_to_be_skipped() -> None:
    skipped = Outcome("idle", "one-way", skipped="takes root")
    assert round_lines(1, 1, skipped) == ["idle one-way 1/1: skipped: takes root"]
    assert "skipped" in table([skipped])[1]


def test_a_row_counts_what_was_broken_also_where_the_machine_was_not_idle() -> None:
    disturbed = outcome(1.0)
    disturbed.is_repeated = True
    disturbed.findings = Findings(lost=7)
    row = table([disturbed, outcome(1.5)])[1].split()
    assert row[2] == "1"
    assert "7" in row
