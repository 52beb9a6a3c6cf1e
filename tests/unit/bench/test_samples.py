from dataclasses import replace

import pytest
from bench.samples import Sample, summarize


def test_figures_are_amounts_over_time() -> None:
    figures = summarize([Sample(2.0, 1.0, requests=10, messages=1000, bytes=4_000_000)])
    assert figures.mb_per_s == pytest.approx(2.0)
    assert figures.messages_per_s == pytest.approx(500)
    assert figures.requests_per_s == pytest.approx(5)
    assert figures.cpu_share == pytest.approx(0.5)
    assert figures.cpu_ms_per_mb == pytest.approx(250)
    assert figures.cpu_us_per_request == pytest.approx(100_000)


def test_one_disturbed_run_moves_no_figure() -> None:
    calm = [Sample(1.0, 0.5, requests=100, p99_us=90.0) for _ in range(4)]
    disturbed = Sample(30.0, 9.0, requests=100, p99_us=9_000.0)
    moved, still = summarize([*calm, disturbed]), summarize(calm)
    assert (moved.spread, moved.cpu_spread) != (still.spread, still.cpu_spread)
    assert replace(moved, spread=0.0, cpu_spread=0.0) == still


def test_the_spread_tells_calm_runs_from_noisy_ones() -> None:
    noisy = summarize([Sample(seconds, 0.5, requests=100) for seconds in (1.0, 1.5, 2.0)])
    assert noisy.spread == pytest.approx(1 / 3)
    assert summarize([Sample(1.0, 0.5, requests=100)] * 3).spread == 0


def test_what_was_not_measured_has_no_figure() -> None:
    figures = summarize([Sample(1.0, 0.5, messages=5)])
    assert figures.requests_per_s is None
    assert figures.mb_per_s is None
    assert figures.p50_us is None
