"""Metadata: topics, their partitions and leaders.

Encoded topics are cached until the topic, one of its partitions, or the set of nodes changes,
because every client asks for them again and again.
"""

import uuid

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.kafka_api.client import Client
from duolog.kafka_api.endpoints import controller_id, endpoints
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.operations import ALL_ON_CLUSTER, ALL_ON_TOPIC
from duolog.model.errors import Refusal, UnknownTopicId, UnknownTopicOrPartition
from duolog.model.names import check_topic_name, is_reserved
from duolog.model.partition_state import NO_LEADER
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.kafka.metadata import (
    MetadataRequest,
    PartitionState,
    WantedTopic,
    encode_response,
    encode_topic,
    parse_request,
)
from duolog.wire.kafka.primitives import NO_UUID

ENCODED_TOPICS_MAX = 20_000
"""Limit of cached topics, counted once per version of the request."""


class MetadataHandler:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._encoded: dict[tuple[int, bool, uuid.UUID], tuple[Topic, int, bytes]] = {}
        """Cached topics, with the revision of the partition states that the bytes show."""
        self._alive: frozenset[int] = frozenset()
        """Nodes that were alive when the cached topics were encoded."""

    def parse(self, version: int, body: memoryview) -> MetadataRequest:
        return parse_request(version, body, 0, len(body))

    async def handle(self, client: Client, request: MetadataRequest) -> bytes:
        broker = self._broker
        version = client.api_version
        with_operations = request.include_topic_authorized_operations
        self._notice_nodes()
        if request.topics is None:
            topics = [
                self._encode(version, topic, with_operations)
                for topic in broker.catalog.topics.values()
            ]
        else:
            topics = [
                await self._one(version, wanted, request.allow_auto_topic_creation, with_operations)
                for wanted in request.topics
            ]
        extra = {}
        if request.include_cluster_authorized_operations:
            extra["cluster_authorized_operations"] = ALL_ON_CLUSTER
        return encode_response(
            version,
            endpoints(broker),
            broker.cluster_id,
            controller_id(broker),
            topics,
            **extra,
        )

    async def _one(
        self, version: int, wanted: WantedTopic, may_create: bool, with_operations: bool
    ) -> bytes:
        name, topic_id = wanted
        try:
            topic = await self._find(name, topic_id, may_create)
        except Refusal as refusal:
            asked_by_name = name if topic_id is None else None
            return encode_topic(
                version, code_of(refusal), asked_by_name, topic_id or NO_UUID, False, ()
            )
        return self._encode(version, topic, with_operations)

    async def _find(self, name: str | None, topic_id: bytes | None, may_create: bool) -> Topic:
        broker = self._broker
        if topic_id is not None:
            # With an id the name is ignored: Kafka's own clients send an empty one.
            return broker.catalog.by_id(uuid.UUID(bytes=topic_id))
        if name is None:
            raise UnknownTopicId("the request gives a topic neither a name nor an id")
        check_topic_name(name)
        try:
            return broker.catalog.get(name)
        except UnknownTopicOrPartition:
            allowed = broker.settings.flag("auto.create.topics.enable")
            if not (may_create and allowed) or is_reserved(name):
                raise
        return await broker.create_topic_if_missing(name)

    def _notice_nodes(self) -> None:
        """Empty the cache if nodes came or went: offline replicas and reachable leaders depend on
        them."""
        alive = self._broker.catalog.nodes.live.keys()
        if alive != self._alive:
            self._alive = frozenset(alive)
            self._encoded.clear()

    def _encode(self, version: int, topic: Topic, with_operations: bool) -> bytes:
        key = (version, with_operations, topic.id)
        revision = self._broker.catalog.states_revision(topic)
        known = self._encoded.get(key)
        if known is not None and known[0] is topic and known[1] == revision:
            return known[2]
        states = [self._row(topic, index) for index in range(topic.partitions)]
        extra = {"authorized_operations": ALL_ON_TOPIC} if with_operations else {}
        encoded = encode_topic(
            version, 0, topic.name, topic.id.bytes, topic.internal, states, **extra
        )
        if len(self._encoded) >= ENCODED_TOPICS_MAX:
            self._encoded.clear()
        self._encoded[key] = (topic, revision, encoded)
        return encoded

    def _row(self, topic: Topic, index: int) -> PartitionState:
        state = self._broker.catalog.partition_state(topic, index)
        code, leader = 0, state.leader
        if leader not in self._alive:
            # A client that is told to wait retries; one that is sent to a dead node hangs.
            code, leader = int(ErrorCode.LEADER_NOT_AVAILABLE), NO_LEADER
        offline = tuple(node for node in state.replicas if node not in self._alive)
        return code, index, leader, state.leader_epoch, state.replicas, state.in_sync, offline
