from dataclasses import replace
from pathlib import Path

from bench.cells import number, workload_cells
from bench.peers.peer import PeerResult
from bench.peers.queue_peer import QueuePeerResult
from bench.report import Report
from bench.rows import Row, failed, skipped
from bench.samples import Figures
from bench.table import plain

MACHINE = dict.fromkeys(
    ("date", "cpu", "cores", "memory", "kernel", "filesystem", "python", "versions", "librdkafka"),
    "?",
)
PRODUCE = Row(
    "produce/1MB/1p",
    "produce 1 MB batches",
    "mb_per_s",
    Figures(mb_per_s=1234.5, cpu_ms_per_mb=0.5, cpu_share=0.617),
    Figures(mb_per_s=2469.0, cpu_ms_per_mb=0.4),
    "uvloop + pwritev",
)
SKIPPED = skipped("latency/1000", "end to end", "p50_us", "skipped: no librdkafka")


def report() -> Report:
    peer = PeerResult("NATS JetStream", note="not installed: nats-server")
    queues = QueuePeerResult("moto", "memory", sent_per_s=512.0, send_cpu_us=1900.0)
    return Report(MACHINE, "python -m bench", [PRODUCE, SKIPPED], [peer], [queues])


def test_a_report_survives_being_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "results" / "run.json"
    report().write(path)
    assert Report.read(path) == report()


def test_a_row_shows_its_headline_beside_the_floor() -> None:
    assert workload_cells(PRODUCE)[:5] == [
        "produce 1 MB batches",
        "1,234 MB/s",
        "2,469 MB/s",
        "0.50",
        "0.50 (0.40)",
    ]


def test_a_row_about_cpu_names_it() -> None:
    ours, base = Figures(cpu_us_per_request=20.0), Figures(cpu_us_per_request=16.0)
    cells = workload_cells(Row("queues/flat", "send", "cpu_us_per_request", ours, base))
    assert cells[1:4] == ["CPU 20.0 us", "CPU 16.0 us", "1.25"]


def test_a_skipped_row_says_why() -> None:
    assert workload_cells(SKIPPED)[:2] == ["end to end", "skipped: no librdkafka"]


def test_the_markdown_holds_rows_goals_peers_and_the_command() -> None:
    text = report().markdown()
    assert "    python -m bench\n" in text
    assert "| produce 1 MB batches | 1,234 MB/s | 2,469 MB/s |" in text
    assert "| pass | broker CPU per MB produced" in text
    assert "not installed: nats-server" in text
    assert "| moto | memory | 512 | 1,900 |  |" in text
    assert "fetched" not in text, "goals that were not measured are left out"


def test_the_markdown_admits_that_the_machine_was_not_quiet() -> None:
    busy = replace(PRODUCE, ours=Figures(mb_per_s=1.0, others_cores=1.1))
    assert "1 of 2 rows are disturbed" in Report(MACHINE, "", [busy, SKIPPED], []).markdown()
    assert "disturbed:" not in report().markdown()


def test_plain_columns_line_up() -> None:
    assert plain(["a", "bb"], [["ccc", "d"]]) == "a    bb\nccc  d"


def test_numbers_keep_about_three_digits() -> None:
    assert [number(value) for value in (1234567.0, 12.34, 0.456, None)] == [
        "1,234,567",
        "12.3",
        "0.46",
        "",
    ]


def test_a_failed_group_makes_the_report_a_failed_one() -> None:
    assert not report().failed
    broken = Report(MACHINE, "python -m bench", [PRODUCE, failed("fsync", "no disk")], [])
    assert broken.failed
    assert workload_cells(broken.rows[1])[:2] == ["fsync", "failed: no disk"]
