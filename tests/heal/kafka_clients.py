"""Kafka clients without retries: each produces to, or fetches from, a partition, or commits."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from threading import Event, Thread
from typing import Any

from tests.harness.node import Node
from tests.harness.wire import FETCH_VERSION, Wire, fetch_fields, produce_fields
from tests.heal.pace import NEXT_NODE_SECONDS, Pace, Turns
from tests.heal.timeline import Client, Timeline
from tests.heal.topic_ledger import PROBE

from duolog.records.builder import build_batch
from duolog.records.record import Record
from duolog.wire.kafka.apis import ApiKey

METADATA_VERSION = 9
PRODUCE_VERSION = 9
COORDINATOR_VERSION = 2
COMMIT_VERSION = 8
COMMITTED_VERSION = 7
FETCH_BYTES_MAX = 4_096


class NotServed(ConnectionError):
    """The answer is an error."""


class KafkaClient(Thread, ABC):
    """Asks whoever leads, as any node tells it; after a failure it asks the next one."""

    kind: str

    def __init__(self, nodes: Sequence[Node], timeline: Timeline, target: str, pace: Pace) -> None:
        super().__init__(daemon=True, name=f"{self.kind} {target}")
        self._turns = Turns(nodes)
        self._timeline = timeline
        self._client = Client(self.kind, target)
        self._pace = pace
        self._leader: Wire | None = None
        self._stopping = Event()
        self.refusals: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                try:
                    self.ask()
                except OSError as error:
                    self.refusals[str(error)] += 1
                    self._close()
                    self._turns.turn()
                    self._stopping.wait(NEXT_NODE_SECONDS)
                else:
                    self._timeline.note(self._client, began, time.monotonic())
                    self._stopping.wait(self._pace.rest_seconds)
        except Exception as error:
            self.failures.append(f"{self.name} ended: {error!r}")
            raise
        finally:
            self._close()

    @abstractmethod
    def ask(self) -> None:
        """One request. OSError when it is not served."""

    @abstractmethod
    def find(self, node: Wire) -> str:
        """Who leads, as this node tells."""

    def call(self, api: ApiKey, version: int, fields: dict[str, Any]) -> Any:
        if self._leader is None:
            with self._connect(self._turns.node.kafka) as node:
                address = self.find(node)
            self._leader = self._connect(address)
        return _call(self._leader, api, version, fields)

    def _connect(self, address: str) -> Wire:
        return Wire(address, seconds_max=self._pace.answer_seconds_max)

    def _close(self) -> None:
        if self._leader is not None:
            self._leader.close()
            self._leader = None

    def stop(self) -> None:
        self._stopping.set()


def _call(wire: Wire, api: ApiKey, version: int, fields: dict[str, Any]) -> Any:
    try:
        return wire.call(api, version, fields)
    except AssertionError as error:
        raise NotServed(str(error)) from None


def check(code: int, what: str) -> None:
    if code:
        raise NotServed(f"{what}: error {int(code)}")


class _OfPartition(KafkaClient):
    def __init__(
        self,
        nodes: Sequence[Node],
        timeline: Timeline,
        topic: str,
        partition: int,
        pace: Pace,
    ) -> None:
        super().__init__(nodes, timeline, f"{topic}/{partition}", pace)
        self._topic = topic
        self._partition = partition

    def find(self, node: Wire) -> str:
        fields = {"topics": [{"name": self._topic}], "allow_auto_topic_creation": False}
        told = _call(node, ApiKey.METADATA, METADATA_VERSION, fields)
        (topic,) = told.topics
        check(topic.error_code, "metadata of the topic")
        leaders = {int(each.partition_index): int(each.leader_id) for each in topic.partitions}
        addresses = {int(each.node_id): f"{each.host}:{each.port}" for each in told.brokers}
        leader = leaders.get(self._partition, -1)
        if leader not in addresses:
            raise NotServed(f"metadata: no leader ({leader})")
        return addresses[leader]


class ProduceProbe(_OfPartition):
    """Produces one record at a time, and forgets those that are not acknowledged in time."""

    kind = "produce"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.acknowledged: list[bytes] = []
        self._number = 0

    def ask(self) -> None:
        self._number += 1
        key = PROBE + b"%d/%d" % (self._partition, self._number)
        batch = _batch(key)
        wait_ms = int(1_000 * self._pace.answer_seconds_max)
        fields = {**produce_fields(self._topic, self._partition, batch), "timeout": wait_ms}
        told = self.call(ApiKey.PRODUCE, PRODUCE_VERSION, fields)
        (answer,) = told.responses[0].partition_responses
        check(answer.error_code, "produce")
        self.acknowledged.append(key)


def _batch(key: bytes) -> bytes:
    now_ms = int(time.time() * 1000)
    return bytes(build_batch([Record(key=key, value=key, timestamp=now_ms)]))


class FetchProbe(_OfPartition):
    """Fetches a few records from the start, which are there."""

    kind = "fetch"

    def ask(self) -> None:
        fields = fetch_fields(self._topic, self._partition, 0, bytes_max=FETCH_BYTES_MAX)
        told = self.call(ApiKey.FETCH, FETCH_VERSION, fields)
        check(told.error_code, "fetch")
        (answer,) = told.responses[0].partitions
        check(answer.error_code, "fetch of the partition")


class CommitProbe(KafkaClient):
    """Commits higher and higher offsets of a group without members, and asks for them."""

    kind = "commit"

    def __init__(
        self,
        nodes: Sequence[Node],
        timeline: Timeline,
        group: str,
        topic: str,
        committed: Sequence[int],
        pace: Pace,
    ) -> None:
        """`committed`: the group's offsets until now."""
        super().__init__(nodes, timeline, group, pace)
        self._group = group
        self._topic = topic
        self._committed = list(committed)
        self._unknown: set[int] = set()
        """Offsets whose commit may still happen."""
        self.acknowledged = 0
        self.lost: list[str] = []

    def find(self, node: Wire) -> str:
        fields = {"key": self._group, "key_type": 0}
        told = _call(node, ApiKey.FIND_COORDINATOR, COORDINATOR_VERSION, fields)
        check(told.error_code, "find coordinator")
        return f"{told.host}:{told.port}"

    def ask(self) -> None:
        offset = max([*self._unknown, self._committed[0]]) + 1
        self._unknown.add(offset)
        place = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}
        fields = {
            "group_id": self._group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": self._topic, "partitions": [{**place, "committed_metadata": ""}]}],
        }
        told = self.call(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, fields)
        check(told.topics[0].partitions[0].error_code, "commit")
        self._unknown.discard(offset)
        self._committed[0] = offset
        self.acknowledged += 1
        self._look()

    def _look(self) -> None:
        indexes = list(range(len(self._committed)))
        topics = [{"name": self._topic, "partition_indexes": indexes}]
        fields = {"group_id": self._group, "topics": topics, "require_stable": False}
        told = self.call(ApiKey.OFFSET_FETCH, COMMITTED_VERSION, fields)
        check(told.error_code, "committed offsets")
        for each in told.topics[0].partitions:
            check(each.error_code, "committed offset")
            wanted, found = self._committed[each.partition_index], each.committed_offset
            # A commit that nobody waited for may have been carried out last.
            if found < wanted and found not in self._unknown:
                self.lost.append(
                    f"{self._group}: partition {each.partition_index} was committed up to"
                    f" {wanted}, and later only to {found}"
                )
