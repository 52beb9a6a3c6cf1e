import json
from datetime import UTC, datetime
from pathlib import Path

from tests.heal.node_log import LONG_TURN, REGISTERED, NodeLog


def write(directory: Path, start: int, *lines: tuple[str, float]) -> None:
    """The log of one process: events, and when they were."""
    texts = [
        json.dumps({"event": event, "timestamp": datetime.fromtimestamp(at, UTC).isoformat()})
        for event, at in lines
    ]
    (directory / f"stderr.{start}").write_text("\n".join(texts) + "\n")


def test_a_process_that_registers_again_has_lost_its_lease(tmp_path: Path) -> None:
    write(tmp_path, 1, (REGISTERED, 10.0), (REGISTERED, 20.0))
    write(tmp_path, 2, (REGISTERED, 30.0))
    assert NodeLog(tmp_path).leases_lost(0.0, 100.0) == [20.0]


def test_only_what_happened_in_the_round_counts(tmp_path: Path) -> None:
    write(tmp_path, 1, (REGISTERED, 10.0), (REGISTERED, 20.0), (LONG_TURN, 25.0))
    log = NodeLog(tmp_path)
    assert log.leases_lost(21.0, 100.0) == []
    assert [line.at for line in log.lines(LONG_TURN, 21.0, 100.0)] == [25.0]
    assert log.lines(LONG_TURN, 26.0, 100.0) == []


def test_lines_that_are_no_events_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "stderr.1").write_text('Traceback (most recent call last):\n{"event": 1}\n{\n')
    log = NodeLog(tmp_path)
    assert log.leases_lost(0.0, 100.0) == []
    assert log.tracebacks() == 1
