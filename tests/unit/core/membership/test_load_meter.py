import uuid

from duolog.core.membership.load_meter import LoadMeter, PartitionTotals, Totals
from duolog.model.load import PARTITIONS_REPORTED_MAX

TOPIC = uuid.UUID(int=1)


def test_rates_are_those_since_the_last_report() -> None:
    meter = LoadMeter(1, Totals(bytes_in=100, requests=5), now_ms=1_000)
    report = meter.report(Totals(bytes_in=2_100, bytes_out=400, requests=25), now_ms=3_000)
    assert (report.bytes_in_per_s, report.bytes_out_per_s) == (1_000, 200)
    assert report.requests_per_s == 10
    again = meter.report(Totals(bytes_in=2_100, bytes_out=400, requests=25), now_ms=5_000)
    assert again.bytes_per_s == 0


def test_only_the_busiest_partitions_are_named() -> None:
    meter = LoadMeter(1, Totals(partitions={}), now_ms=0)
    totals = {(TOPIC, index): PartitionTotals(0, 0) for index in range(300)}
    meter.report(Totals(partitions=totals), now_ms=1_000)
    busier = {key: PartitionTotals(key[1] * 10, 1) for key in totals}
    report = meter.report(Totals(partitions=busier), now_ms=2_000)
    assert len(report.partitions) == PARTITIONS_REPORTED_MAX
    assert report.partitions_led == 300
    assert report.partitions[0].index == 299
    assert report.partitions[0].bytes_per_s == 2_990


def test_a_partition_that_is_new_here_has_done_nothing_yet() -> None:
    """What it counted elsewhere, or before, is not what this node did in the last seconds."""
    meter = LoadMeter(1, Totals(), now_ms=0)
    totals = Totals(partitions={(TOPIC, 0): PartitionTotals(10_000, 10)})
    assert meter.report(totals, now_ms=1_000).partitions[0].bytes_per_s == 0
