"""The topic that a replay writes to."""

from typing import NamedTuple

from duolog.client.cluster import Cluster
from duolog.client.errors import Refused
from duolog.client.topics import topic_configs
from duolog_pipelines.errors import Missing
from pyspark_duolog.asking import Asking
from pyspark_duolog.sink.options import SinkOptions

_ABSENT = "UNKNOWN_TOPIC_OR_PARTITION"
_APPEND_TIME = "LogAppendTime"


class Target(NamedTuple):
    partition_count: int
    stamps_itself: bool
    retention_ms: int
    """Negative if records are not removed by age."""

    @classmethod
    def of(cls, options: SinkOptions, name: str) -> "Target":
        async def described(cluster: Cluster) -> Target:
            try:
                partitions = (await cluster.metadata([name])).topics[name].partitions
            except Refused as refusal:
                if refusal.name != _ABSENT:
                    raise
                raise Missing(
                    f"There is no topic or queue '{name}' to write to. Make it first."
                ) from None
            configs = await topic_configs(cluster, name)
            retention = configs["retention.ms"].value
            return cls(
                len(partitions),
                configs["message.timestamp.type"].value == _APPEND_TIME,
                -1 if retention is None else int(retention),
            )

        return Asking(options.bootstrap_servers, options.broker_timeout_ms).ask(described)

    def removes(self, oldest_ms: int, now_ms: int) -> bool:
        """True if retention would remove a record of that age at once."""
        return not self.stamps_itself and 0 <= self.retention_ms < now_ms - oldest_ms
