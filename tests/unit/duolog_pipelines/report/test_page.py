"""The report as a page, in the terminal, and for programs."""

import json
import re
from datetime import date
from decimal import Decimal

import pytest

from duolog.cli.output import Format
from duolog_pipelines.report.page import page
from duolog_pipelines.report.section import Chart, Section, Table
from duolog_pipelines.report.showing import show

TABLE = Table(
    "By queue",
    ("queue", "messages", "cost", "day"),
    [
        ("<script>alert(1)</script>", 1_234_567, Decimal("0.10"), date(2026, 10, 1)),
        ("b", 1, None, None),
    ],
    "a note",
)
CHART = Chart("Messages", "bars", ["mon"], {"send": [5.0]}, "messages")
SECTIONS = {"usage": [Section("Usage", "Of late.", [TABLE], [CHART])], "billing": []}


def test_a_page_shows_tables_and_charts_and_runs_nothing() -> None:
    text = page("Duolog", "As of today.", SECTIONS)
    assert "<script" not in text
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
    assert "&lt;script&gt;" in text
    assert '<td class="number">1,234,567</td>' in text
    assert "<svg" in text
    assert "prefers-color-scheme: dark" in text
    assert '<a href="#usage">' in text
    assert "billing" not in text


def test_the_terminal_shows_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show(SECTIONS, Format.table)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Usage"
    assert "By queue (a note)" in lines
    assert lines[-1].split() == ["b", "1", "-", "-"]


def test_programs_get_the_numbers_of_tables_and_charts(capsys: pytest.CaptureFixture[str]) -> None:
    show(SECTIONS, Format.json)
    (told,) = json.loads(capsys.readouterr().out)
    assert told["pipeline"] == "usage"
    assert told["tables"][0]["rows"][0]["cost"] == "0.10"
    assert told["tables"][0]["rows"][0]["day"] == "2026-10-01"
    assert told["charts"][0]["series"] == {"send": [5.0]}


def test_nothing_is_an_empty_array(capsys: pytest.CaptureFixture[str]) -> None:
    show({"usage": []}, Format.json)
    assert json.loads(capsys.readouterr().out) == []
