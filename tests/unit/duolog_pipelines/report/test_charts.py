"""Charts that need nothing but the page they stand in."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duolog_pipelines.report.charts import (
    OTHERS,
    SERIES_MAX,
    chart_figure,
    folded,
    nice_ticks,
    short_number,
)
from duolog_pipelines.report.section import Chart


@given(st.floats(1e-6, 1e18))
def test_ticks_reach_the_highest_value_and_are_few(highest: float) -> None:
    ticks = nice_ticks(highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest * (1 - 1e-6)
    assert 3 <= len(ticks) <= 7


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (950, "950"), (1_500, "1.5k"), (2e6, "2M"), (3e9, "3G")]
)
def test_numbers_on_an_axis_are_short(value: float, text: str) -> None:
    assert short_number(value) == text


def test_more_series_than_colours_are_summed_up() -> None:
    series = {f"s{number}": [float(number), 1.0] for number in range(9)}
    kept = folded(series)
    assert list(kept) == ["s8", "s7", "s6", "s5", "s4", OTHERS]
    assert len(kept) == SERIES_MAX
    assert kept[OTHERS] == [0 + 1 + 2 + 3, 4]


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_a_chart_is_well_formed_and_tells_its_values(kind: str) -> None:
    chart = Chart("A < B", kind, ["mon", "tue"], {"<in>": [1, 2], "out": [3, 0]}, "msgs")  # type: ignore[arg-type]
    figure = ElementTree.fromstring(chart_figure(chart))
    titles = [each.text for each in figure.iter("title")]
    assert "mon, <in>: 1 msgs" in titles
    assert [each.text for each in figure.iter("figcaption")] == ["A < B"]
    assert len(list(figure.iter("li"))) == 2


def test_bars_of_a_day_stand_on_each_other() -> None:
    chart = Chart("t", "bars", ["mon"], {"a": [1], "b": [3]})
    first, second = ElementTree.fromstring(chart_figure(chart)).iter("rect")
    assert float(second.attrib["y"]) + float(second.attrib["height"]) == pytest.approx(
        float(first.attrib["y"]), abs=0.2
    )
    assert float(second.attrib["height"]) == pytest.approx(
        3 * float(first.attrib["height"]), abs=0.5
    )


def test_nothing_is_drawn_of_nothing() -> None:
    assert chart_figure(Chart("t", "bars", [], {})) == ""
    assert "<svg" in chart_figure(Chart("t", "lines", ["a"], {"zero": [0]}))
