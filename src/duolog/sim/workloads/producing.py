"""An idempotent producer with acks=all, which repeats each batch until it is acknowledged."""

import asyncio
from random import Random

from duolog.records.builder import build_batch
from duolog.records.record import Record
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.topics import TopicOracle
from duolog.sim.workloads.kafka_client import NO_ERROR, KafkaClient, Refused
from duolog.sim.workloads.kafka_link import LinkLost
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode

PERMANENT = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH)
"""Errors that a producer which repeats each batch until it is acknowledged must never get."""

ACKS_ALL = -1
TIMEOUT_MS = 4_000


class Producer:
    def __init__(
        self,
        name: str,
        client: KafkaClient,
        oracle: TopicOracle,
        service: ServiceOracle,
        random: Random,
    ) -> None:
        self._service = service
        self._name = name
        self._client = client
        self._oracle = oracle
        self._random = random
        self._producer_id = -1
        self._epoch = -1
        self._sent = 0
        self.stopping = False

    async def run(self, topic: str, partitions: int, per_second: float) -> None:
        """Produce until told to stop; batches already begun are then finished."""
        await self._identify()
        async with asyncio.TaskGroup() as lanes:
            for partition in range(partitions):
                lanes.create_task(self._lane(topic, partition, per_second / partitions))

    async def _lane(self, topic: str, partition: int, per_second: float) -> None:
        sequence = 0
        while not self.stopping:
            await asyncio.sleep(self._random.expovariate(per_second))
            ids = [self._next_id() for _ in range(self._random.choice((1, 1, 1, 3)))]
            self._oracle.attempted(topic, partition, self._name, ids)
            batch = build_batch(
                [Record(value=each.encode()) for each in ids],
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                base_sequence=sequence,
            )
            offset = await self._deliver(topic, partition, bytes(batch))
            self._oracle.acknowledged(topic, partition, offset, ids)
            sequence += len(ids)

    def _next_id(self) -> str:
        self._sent += 1
        return f"{self._name}:{self._sent}"

    async def _identify(self) -> None:
        fields = {"transactional_id": None, "producer_id": -1, "producer_epoch": -1}
        fields["transaction_timeout"] = 60_000
        while self._producer_id < 0:
            try:
                response = await self._client.call_any(ApiKey.INIT_PRODUCER_ID, fields)
                if int(response.error_code) == NO_ERROR:
                    self._producer_id = response.producer_id
                    self._epoch = response.producer_epoch
                    return
            except LinkLost:
                pass
            await self._client.pause()

    async def _deliver(self, topic: str, partition: int, batch: bytes) -> int:
        fields = {
            "transactional_id": None,
            "acks": ACKS_ALL,
            "timeout": TIMEOUT_MS,
            "topic_data": [
                {"name": topic, "partition_data": [{"index": partition, "records": batch}]}
            ],
        }
        what = f"produce to {topic}-{partition}"
        while True:
            asked_ns = self._service.asked(what)
            try:
                node = await self._client.leader(topic, partition)
                response = await self._client.call(
                    node, ApiKey.PRODUCE, fields, seconds_max=TIMEOUT_MS / 1000 + 2
                )
                result = response.responses[0].partition_responses[0]
                code = int(result.error_code)
                if code == NO_ERROR:
                    self._service.answered(what, asked_ns)
                    offset: int = result.base_offset
                    return offset
                if code in PERMANENT:
                    self._oracle.refused(topic, partition, self._name, ErrorCode(code).name)
            except (LinkLost, Refused):
                pass
            self._client.forget(topic, partition)
            await self._client.pause()
