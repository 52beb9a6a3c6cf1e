"""From produce to consume at a fixed rate, both ends librdkafka in one process and one clock."""

from collections.abc import Iterator

from bench.driver import Traffic
from bench.processes import Server
from bench.rows import Row, skipped
from bench.samples import Sample, summarize
from bench.stand import Stand
from bench.workloads.librdkafka import NOT_INSTALLED

RATES = (1_000, 10_000)


def run(stand: Stand) -> Iterator[Row]:
    with stand.broker("os") as broker:
        for rate in RATES:
            yield at_rate(stand, broker, rate)


def at_rate(stand: Stand, broker: Server, rate: int) -> Row:
    key, title = f"latency/{rate}", f"end to end, 1 KB at {rate:,}/s"
    if stand.tools.rdkafka_load is None:
        return skipped(key, title, "p50_us", NOT_INSTALLED)
    traffic = Traffic(
        size_bytes=1024,
        count=int(rate * stand.scale.latency_seconds),
        seconds_max=stand.scale.seconds_max,
        rate=rate,
        overrides=("linger.ms=0",),
    )

    def pass_through(number: int) -> Sample:
        with stand.topic(broker, f"{key}-{number}") as topic:
            return stand.librdkafka("latency", broker, topic, traffic)

    (ours,) = stand.interleave(title, pass_through)
    return Row(key, title, "p50_us", summarize(ours))
