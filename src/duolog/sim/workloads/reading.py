"""A consumer without a group that reads a partition from its start, for ever."""

from typing import Any

from duolog.model.errors import CorruptBatch
from duolog.records.checksum import is_intact
from duolog.records.iterator import iter_batches, iter_records
from duolog.sim.oracle.topics import TopicOracle
from duolog.sim.workloads.kafka_client import NO_ERROR, KafkaClient, Refused
from duolog.sim.workloads.kafka_link import LinkLost
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode

WAIT_MS = 500
BYTES_MAX = 1 << 20
OPENED_BYTES_MAX = 1 << 24


class Fetched:
    """Result of one fetch of one partition."""

    def __init__(
        self, high_watermark: int, records: list[tuple[int, str]], next_offset: int
    ) -> None:
        self.high_watermark = high_watermark
        self.records = records
        """Offsets and values, in order."""
        self.next_offset = next_offset


async def fetch(
    client: KafkaClient,
    oracle: TopicOracle,
    topic: str,
    partition: int,
    offset: int,
    *,
    wait_ms: int = WAIT_MS,
) -> Fetched:
    """Fetch records from the partition's leader. Raises LinkLost or Refused."""
    node = await client.leader(topic, partition)
    fields = {
        "replica_id": -1,
        "max_wait": wait_ms,
        "min_bytes": 1,
        "max_bytes": BYTES_MAX,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {
                "topic": topic,
                "partitions": [
                    {
                        "partition": partition,
                        "current_leader_epoch": -1,
                        "fetch_offset": offset,
                        "last_fetched_epoch": -1,
                        "log_start_offset": -1,
                        "partition_max_bytes": BYTES_MAX,
                    }
                ],
            }
        ],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    try:
        response = await client.call(node, ApiKey.FETCH, fields)
        answered = response.responses[0].partitions[0]
        code = int(answered.error_code)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            oracle.missing(topic, partition, offset, node)
        if code != NO_ERROR:
            raise Refused(code)
        return _opened(answered, offset)
    except CorruptBatch:
        # A flipped bit, which a consumer may meet before the broker's scrubbing does.
        raise Refused(ErrorCode.CORRUPT_MESSAGE) from None
    except (LinkLost, Refused):
        client.forget(topic, partition)
        raise


def _opened(answered: Any, offset: int) -> Fetched:
    """Check and decode the fetched batches. Raises CorruptBatch."""
    records, next_offset = [], offset
    for header, batch in iter_batches(bytes(answered.records or b"")):
        if not is_intact(batch):
            raise CorruptBatch("a checksum is wrong")
        for each in iter_records(batch, decompressed_bytes_max=OPENED_BYTES_MAX):
            if each.offset is not None and each.offset >= offset and each.value is not None:
                records.append((each.offset, each.value.decode()))
        next_offset = max(next_offset, header.next_offset)
    return Fetched(answered.high_watermark, records, next_offset)


class Reader:
    def __init__(self, client: KafkaClient, oracle: TopicOracle) -> None:
        self._client = client
        self._oracle = oracle

    async def run(self, topic: str, partition: int) -> None:
        offset = 0
        while True:
            try:
                fetched = await fetch(self._client, self._oracle, topic, partition, offset)
            except (LinkLost, Refused):
                await self._client.pause()
                continue
            self._oracle.read(topic, partition, offset, fetched.records, fetched.high_watermark)
            offset = fetched.next_offset
