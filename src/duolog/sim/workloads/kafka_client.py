"""A Kafka client that survives faults: finds leaders, and asks again."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from duolog.sim.network import ProcessNetwork
from duolog.sim.node import KAFKA_PORT
from duolog.sim.workloads.kafka_link import KafkaLink, LinkLost, connect
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode

PAUSE_SECONDS = 0.1
"""Pause, on average, before a refused or lost request is repeated."""

NO_ERROR = 0


class Refused(Exception):
    """An answer with an error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code}")
        self.code = code


class KafkaClient:
    def __init__(self, network: ProcessNetwork, machines: Sequence[str], random: Random) -> None:
        """Connect to `machines`; node N is the N-th of them, counted from 1."""
        self._network = network
        self._machines = machines
        self._random = random
        self._links: dict[int, KafkaLink] = {}
        self._leaders: dict[tuple[str, int], int] = {}

    async def call(
        self, node: int, api: ApiKey, fields: Mapping[str, Any], *, seconds_max: float = 5.0
    ) -> Any:
        """Raises LinkLost."""
        link = self._links.get(node)
        if link is None or not link.is_open:
            link = await connect(self._network, self._machines[node - 1], KAFKA_PORT)
            self._links[node] = link
        return await link.call(api, fields, seconds_max=seconds_max)

    async def call_any(self, api: ApiKey, fields: Mapping[str, Any]) -> Any:
        """Raises LinkLost."""
        return await self.call(1 + self._random.randrange(len(self._machines)), api, fields)

    async def leader(self, topic: str, partition: int) -> int:
        """The partition's leader, as last learned. Raises LinkLost, or Refused while there is
        none."""
        known = self._leaders.get((topic, partition))
        if known is None:
            await self._learn(topic)
            known = self._leaders.get((topic, partition))
            if known is None:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        return known

    def forget(self, topic: str, partition: int) -> None:
        self._leaders.pop((topic, partition), None)

    async def pause(self) -> None:
        await asyncio.sleep(PAUSE_SECONDS * (0.5 + self._random.random()))

    async def _learn(self, topic: str) -> None:
        fields = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        response = await self.call_any(ApiKey.METADATA, fields)
        for described in response.topics:
            for each in described.partitions:
                if each.leader_id > 0:
                    self._leaders[described.name, each.partition_index] = each.leader_id

    async def create_topic(
        self, name: str, partitions: int, replicas: int, configs: Mapping[str, str]
    ) -> None:
        fields = {
            "topics": [
                {
                    "name": name,
                    "num_partitions": partitions,
                    "replication_factor": replicas,
                    "assignments": [],
                    "configs": [{"name": key, "value": value} for key, value in configs.items()],
                }
            ],
            "timeout": 5_000,
            "validate_only": False,
        }
        while True:
            try:
                response = await self.call_any(ApiKey.CREATE_TOPICS, fields)
                code = int(response.topics[0].error_code)
                if code in (NO_ERROR, ErrorCode.TOPIC_ALREADY_EXISTS):
                    return
                assert code != ErrorCode.INVALID_CONFIG
            except LinkLost:
                pass
            await self.pause()
