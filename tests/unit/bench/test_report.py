from dataclasses import replace
from pathlib import Path

import pytest
from bench.cells import number, standing_cells, workload_cells
from bench.comparison.standing import Absent, Comparison, Contestant, Standing
from bench.report import OtherMachine, Report, Run
from bench.rows import Row, failed, skipped
from bench.samples import Figures
from bench.table import plain

MACHINE = dict.fromkeys(("cpu", "cores", "memory", "kernel", "filesystem"), "?")
RUN = Run("2026-01-01 00:00 UTC", "python -m bench", ["produce"], 60.0)
PRODUCE = Row(
    "produce/1MB/1p",
    "produce 1 MB batches",
    "mb_per_s",
    Figures(mb_per_s=1234.5, cpu_ms_per_mb=0.5, cpu_share=0.617),
    Figures(mb_per_s=2469.0, cpu_ms_per_mb=0.4),
    "uvloop + pwritev",
)
SKIPPED = skipped("latency/1000", "end to end", "p50_us", "skipped: no librdkafka")
STANDING = Standing(
    "send/16", "moto", Figures(messages_per_s=512.0, cpu_us_per_message=1900.0), 5, False
)
QUEUES = Comparison(
    "compare/queues",
    RUN.date,
    60.0,
    3,
    [Contestant("moto", "5", "its memory", "defaults", "http_load.c")],
    [STANDING],
    [Absent("ElasticMQ", "java is not installed")],
)


def report() -> Report:
    return Report(MACHINE, [RUN], [PRODUCE, SKIPPED], [QUEUES])


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


def test_a_server_that_was_never_warm_is_shown_as_such() -> None:
    assert standing_cells(STANDING) == ["send/16", "moto", "512", "1,900", "", "", "5, not settled"]


def test_what_is_measured_again_takes_the_place_of_what_was_there() -> None:
    again = replace(PRODUCE, ours=Figures(mb_per_s=1.0))
    queues = replace(QUEUES, took_seconds=1.0)
    merged = report().merged(Report(MACHINE, [RUN], [again], [queues]))
    assert merged == Report(MACHINE, [RUN], [again, SKIPPED], [queues])


def test_what_failed_is_gone_once_it_was_measured() -> None:
    broken = Report(MACHINE, [RUN], [failed("produce", "no disk")])
    assert not broken.merged(Report(MACHINE, [RUN], [PRODUCE])).failed


def test_figures_of_two_machines_are_not_merged() -> None:
    with pytest.raises(OtherMachine, match="cpu"):
        report().merged(Report({**MACHINE, "cpu": "another"}, [RUN], [PRODUCE]))


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
    broken = Report(MACHINE, [RUN], [PRODUCE, failed("fsync", "no disk")])
    assert broken.failed
    assert workload_cells(broken.rows[1])[:2] == ["fsync", "failed: no disk"]
