"""Load of this node, by which the controller balances: traffic, and lag of the event loop."""

from duolog.broker.broker import Broker
from duolog.core.membership.load_meter import PartitionTotals, Totals
from duolog.observe.metrics import Metrics

_LAG_QUANTILE = 0.99
_MS = 1000


class LoadGauge:
    def __init__(self, broker: Broker, metrics: Metrics) -> None:
        self._broker = broker
        self._metrics = metrics
        self._lag_counts = list(metrics.loop_lag.counts)

    def read(self) -> Totals:
        broker = self._broker
        return Totals(
            bytes_in=broker.bytes_in,
            bytes_out=broker.bytes_out,
            requests=sum(stats.answered for stats in self._metrics.operations.values()),
            partitions={
                (partition.topic.id, partition.index): PartitionTotals(
                    partition.bytes_in + partition.bytes_out, 0
                )
                for partition in broker.partitions()
                if partition.is_leader
            },
            loop_lag_p99_ms=self._loop_lag_ms(),
            disk_free_bytes=broker.disk.free_bytes(),
        )

    def _loop_lag_ms(self) -> float:
        """99th percentile of the event loop's lag since the last call, as a histogram bound."""
        lag = self._metrics.loop_lag
        before, self._lag_counts = self._lag_counts, list(lag.counts)
        since = [now - then for now, then in zip(self._lag_counts, before, strict=True)]
        wanted = sum(since) * _LAG_QUANTILE
        seen = 0
        for bound, count in zip((*lag.bounds, lag.bounds[-1]), since, strict=True):
            seen += count
            if count and seen >= wanted:
                return bound * _MS
        return 0.0
