"""A member of a consumer group: joins, assigns partitions, reads, and commits."""

import asyncio
from collections.abc import Mapping
from typing import Any

from duolog.sim.oracle.groups import GroupOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.topics import TopicOracle
from duolog.sim.workloads.kafka_client import KafkaClient, Refused
from duolog.sim.workloads.kafka_link import LinkLost
from duolog.sim.workloads.reading import fetch
from duolog.sim.world import World
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.error_codes import ErrorCode

GROUP = "readers"
PROTOCOL_TYPE = "sim"
PROTOCOL = "even"
SESSION_MS = 6_000
HEARTBEAT_SECONDS = 1.0
JOIN_SECONDS_MAX = 15.0


class GroupMember:
    def __init__(
        self,
        world: World,
        client: KafkaClient,
        topics: TopicOracle,
        oracle: GroupOracle,
        service: ServiceOracle,
        topic: str,
        partitions: int,
    ) -> None:
        self._world = world
        self._client = client
        self._topics = topics
        self._oracle = oracle
        self._service = service
        self._topic = topic
        self._partitions = partitions
        self._member_id = ""
        self._generation = -1
        self._coordinator: int | None = None

    async def run(self) -> None:
        while True:
            try:
                mine = await self._join()
                offsets = await self._fetch_offsets(mine)
                # A task of its own, because Python 3.11.2 leaves a task half cancelled after its
                # TaskGroup failed.
                await asyncio.create_task(self._consume(offsets))
            except (LinkLost, Refused, ExceptionGroup) as failure:
                self._forget(failure)
                await self._client.pause()

    async def _consume(self, offsets: Mapping[int, int]) -> None:
        """Send heartbeats and read all partitions until one of these tasks fails."""
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._beat())
            for partition, offset in offsets.items():
                lanes.create_task(self._read(partition, offset))

    def _forget(self, failure: Exception) -> None:
        self._coordinator = None
        failures = failure.exceptions if isinstance(failure, ExceptionGroup) else (failure,)
        for each in failures:
            assert isinstance(each, LinkLost | Refused), each
            if isinstance(each, Refused) and each.code == ErrorCode.UNKNOWN_MEMBER_ID:
                self._member_id = ""

    async def _ask(self, api: ApiKey, fields: dict[str, Any], seconds_max: float = 5.0) -> Any:
        """Ask the group's coordinator. Raises LinkLost or Refused."""
        if self._coordinator is None:
            wanted = {"key": GROUP, "key_type": 0}
            found = await self._client.call_any(ApiKey.FIND_COORDINATOR, wanted)
            _check(found)
            self._coordinator = int(found.node_id)
        fields = {"group_id": GROUP, **fields}
        return await self._client.call(self._coordinator, api, fields, seconds_max=seconds_max)

    async def _join(self) -> list[int]:
        """Join the group and return the partitions assigned to this member."""
        fields = {
            "session_timeout": SESSION_MS,
            "rebalance_timeout": SESSION_MS,
            "member_id": self._member_id,
            "group_instance_id": None,
            "protocol_type": PROTOCOL_TYPE,
            "protocols": [{"name": PROTOCOL, "metadata": b""}],
        }
        joined = await self._ask(ApiKey.JOIN_GROUP, fields, JOIN_SECONDS_MAX)
        if int(joined.error_code) == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = joined.member_id
            fields["member_id"] = self._member_id
            joined = await self._ask(ApiKey.JOIN_GROUP, fields, JOIN_SECONDS_MAX)
        _check(joined)
        self._member_id, self._generation = joined.member_id, joined.generation_id
        members = sorted(each.member_id for each in joined.members)
        assignments = [
            {"member_id": member, "assignment": bytes(range(at, self._partitions, len(members)))}
            for at, member in enumerate(members)
        ]
        fields = {
            **self._identity(),
            "protocol_type": PROTOCOL_TYPE,
            "protocol_name": PROTOCOL,
            "assignments": assignments if joined.leader == self._member_id else [],
        }
        synced = await self._ask(ApiKey.SYNC_GROUP, fields, JOIN_SECONDS_MAX)
        _check(synced)
        return list(synced.assignment)

    def _identity(self) -> dict[str, Any]:
        member = {"generation_id": self._generation, "member_id": self._member_id}
        return {**member, "group_instance_id": None}

    async def _fetch_offsets(self, partitions: list[int]) -> dict[int, int]:
        asked_ns = self._world.now_ns
        topics = [{"name": self._topic, "partition_indexes": partitions}]
        response = await self._ask(ApiKey.OFFSET_FETCH, {"topics": topics, "require_stable": True})
        _check(response)
        offsets = {}
        for each in response.topics[0].partitions if partitions else ():
            _check(each)
            self._oracle.fetched(
                each.partition_index, each.committed_offset, asked_ns, self._world.now_ns
            )
            offsets[each.partition_index] = max(0, each.committed_offset)
        return offsets

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            _check(await self._ask(ApiKey.HEARTBEAT, self._identity()))

    async def _read(self, partition: int, offset: int) -> None:
        while True:
            try:
                fetched = await fetch(self._client, self._topics, self._topic, partition, offset)
            except (LinkLost, Refused):
                await self._client.pause()
                continue
            self._topics.read(
                self._topic, partition, offset, fetched.records, fetched.high_watermark
            )
            if fetched.next_offset > offset:
                offset = fetched.next_offset
                await self._commit(partition, offset)

    async def _commit(self, partition: int, offset: int) -> None:
        committed = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        fields = {
            "generation_id_or_member_epoch": self._generation,
            "member_id": self._member_id,
            "group_instance_id": None,
            "topics": [{"name": self._topic, "partitions": [committed]}],
        }
        what = f"commit of {self._topic}-{partition}"
        asked_ns = self._service.asked(what)
        response = await self._ask(ApiKey.OFFSET_COMMIT, fields)
        _check(response.topics[0].partitions[0])
        self._service.answered(what, asked_ns)
        self._oracle.acknowledged(partition, offset, self._world.now_ns)


def _check(response: Any) -> None:
    if int(response.error_code):
        raise Refused(int(response.error_code))
