import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from bench.comparison.standing import Absent, Comparison, Contestant, Standing
from bench.page.behind import behind
from bench.page.page import page
from bench.page.pictures import cpu, throughput
from bench.report import Report, Run
from bench.rows import Row
from bench.samples import Figures

MACHINE = dict.fromkeys(
    ("date", "cpu", "cores", "memory", "kernel", "filesystem", "python", "versions", "librdkafka"),
    "?",
)
OURS = Contestant("Duolog, os", "0.1.0", "page cache", "defaults", "librdkafka")
KAFKA = Contestant("Apache Kafka", "4.3.1", "page cache", "defaults", "librdkafka")


def standing(load: str, who: Contestant, rate: float, cpu_us: float) -> Standing:
    figures = Figures(messages_per_s=rate, cpu_us_per_message=cpu_us)
    return Standing(load, who.name, figures, 2, True)


TOPICS = Comparison(
    "compare/topics/page-cache",
    "?",
    60.0,
    3,
    [KAFKA, OURS],
    [
        standing("produce", KAFKA, 600_000, 1.5),
        standing("produce", OURS, 900_000, 0.5),
        standing("requests/4x60", KAFKA, 30_000, 12.0),
        standing("requests/4x60", OURS, 29_000, 15.0),
    ],
    [Absent("NATS JetStream", "not installed")],
)
PRODUCE = Row("produce/1MB/1p", "produce", "mb_per_s", Figures(mb_per_s=9.0, cpu_ms_per_mb=0.5))


def report() -> Report:
    return Report(MACHINE, [Run("?", "python -m bench", ["a"], 60.0)], [], [TOPICS])


def test_the_page_holds_each_server_with_its_figures_and_names_who_is_left_out() -> None:
    text = page(report())
    assert "| Apache Kafka | 600,000 | 1.50 |" in text
    assert "| **Duolog, os** | 900,000 | 0.50 |" in text
    assert "Left out: NATS JetStream (not installed)." in text
    assert "{{" not in text


def test_the_page_says_where_others_are_better_by_more_than_noise() -> None:
    lines = list(behind(TOPICS))
    assert [(line.load, line.metric) for line in lines] == [
        ("one message a request, 4 connections, 60 deep", "CPU us a message")
    ]
    assert "| Duolog, os 15.0 | Apache Kafka 12.0 |" in page(report())


def test_goals_are_on_the_page_where_they_were_measured() -> None:
    assert "## Goals" not in page(report())
    assert "## Goals" in page(replace(report(), rows=[PRODUCE]))


def test_the_page_admits_that_the_machine_was_not_quiet() -> None:
    busy = replace(PRODUCE, ours=Figures(mb_per_s=1.0, others_cores=1.1))
    assert "1 of 2 rows are disturbed" in page(replace(report(), rows=[PRODUCE, busy]))
    assert "are disturbed" not in page(replace(report(), rows=[PRODUCE]))
    shared = replace(TOPICS.standings[0], figures=Figures(messages_per_s=9.0, others_cores=0.5))
    disturbed = replace(TOPICS, standings=[shared, *TOPICS.standings[1:]])
    assert "1 of 4 figures are disturbed" in page(replace(report(), comparisons=[disturbed]))


def test_pictures_show_the_best_first_and_have_colours_for_dark_pages() -> None:
    for drawn in (throughput(report()), cpu(report())):
        ElementTree.fromstring(drawn)
        assert "prefers-color-scheme: dark" in drawn
        assert drawn.index(">Duolog, os<") < drawn.index(">Apache Kafka<")
