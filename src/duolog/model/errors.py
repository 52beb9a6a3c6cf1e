"""Refusals: the expected ways in which a request is not done.

Each door translates them once (kafka_api/errors.py); a test proves its table total.
"""


class Refusal(Exception):
    """A request that was understood and not done. Its text is for the client."""


class InvalidRequest(Refusal):
    """The request contradicts itself or lacks something."""


class InvalidTopic(Refusal):
    """A name that no topic may have."""


class TopicExists(Refusal):
    """A topic of that name is there already."""


class UnknownTopicOrPartition(Refusal):
    """There is no such topic, or it has no such partition."""


class UnknownTopicId(Refusal):
    """No topic has this id."""


class TopicDeletionDisabled(Refusal):
    """Topics may not be deleted here."""


class InvalidPartitions(Refusal):
    """A partition count that cannot be had."""


class InvalidReplicationFactor(Refusal):
    """More replicas were asked for than there are brokers."""


class InvalidReplicaAssignment(Refusal):
    """A replica assignment that names unknown brokers or skips partitions."""


class NoReassignmentInProgress(Refusal):
    """The partition is not on its way to other brokers."""


class ElectionNotNeeded(Refusal):
    """The partition is led by whom the election would choose."""


class PreferredLeaderNotAvailable(Refusal):
    """The first of the partition's replicas is not alive, or lacks acknowledged records."""


class EligibleLeadersNotAvailable(Refusal):
    """No replica is alive that may lead the partition."""


class InvalidConfig(Refusal):
    """A setting that is unknown, out of bounds, or not supported."""


class PolicyViolation(Refusal):
    """Against a rule of this cluster."""


class FencedLeaderEpoch(Refusal):
    """The request names an older leader epoch than the partition has."""


class UnknownLeaderEpoch(Refusal):
    """The request names a newer leader epoch than this broker knows."""


class NotLeader(Refusal):
    """This node does not lead the partition, or may not any more."""


class LeadershipLost(NotLeader):
    """The leader went before what it was asked was confirmed. Whether it happened is unknown."""


class StaleBrokerEpoch(Refusal):
    """The node that asks has been started again since it connected."""


class OffsetNotAvailable(Refusal):
    """A new leader does not know yet how far the records are that all in-sync replicas have."""


class OffsetOutOfRange(Refusal):
    """The offset is below the start or above the end of the partition."""


class CorruptBatch(Refusal):
    """A record batch whose length, magic, checksum or content is wrong."""


class InvalidRecord(Refusal):
    """A well-formed batch that this topic does not take."""


class InvalidTimestamp(Refusal):
    """A timestamp outside what the topic accepts."""


class UnsupportedFormat(Refusal):
    """A message format older than record batches."""


class UnsupportedCompression(Refusal):
    """A compression that is unknown."""


class BatchTooLarge(Refusal):
    """A batch larger than the topic's `max.message.bytes`, or than may be decompressed."""


class InvalidRequiredAcks(Refusal):
    """acks is neither 0, 1 nor all."""


class NotEnoughReplicas(Refusal):
    """Fewer replicas are in sync than `min.insync.replicas`; nothing was appended."""


class RequestTimedOut(Refusal):
    """Not confirmed in time. Whether it happened is unknown."""


class StorageFailed(Refusal):
    """The disk refused a write or a sync, or this log directory is fenced."""


class OutOfOrderSequence(Refusal):
    """A producer's batch does not follow its previous one."""


class InvalidProducerEpoch(Refusal):
    """The producer was fenced by a newer epoch."""


class TransactionsUnsupported(Refusal):
    """Transactions are not offered."""


class FetchSessionNotFound(Refusal):
    """No fetch session has this id."""


class InvalidFetchSessionEpoch(Refusal):
    """The fetch session's epoch is not the expected one."""


class CoordinatorNotAvailable(Refusal):
    """The group's coordinator cannot serve now."""


class CoordinatorLoading(Refusal):
    """The group's coordinator is reading its state."""


class NotCoordinator(Refusal):
    """Another node coordinates the group, or will in a moment."""


class InvalidGroupId(Refusal):
    """A group id that cannot be."""


class GroupIdNotFound(Refusal):
    """There is no such group."""


class GroupNotEmpty(Refusal):
    """The group still has members."""


class GroupSubscribedToTopic(Refusal):
    """The group's members still read this topic."""


class GroupMaxSizeReached(Refusal):
    """The group has as many members as are allowed."""


class UnknownMember(Refusal):
    """The group has no such member."""


class MemberIdRequired(Refusal):
    """The member has to join again with the id that it was just given."""

    def __init__(self, member_id: str) -> None:
        super().__init__("join again with the member id in this answer")
        self.member_id = member_id


class FencedInstanceId(Refusal):
    """Another member took over this static identity."""


class IllegalGeneration(Refusal):
    """The request names another generation than the group's."""


class InconsistentGroupProtocol(Refusal):
    """The member shares no assignment protocol with the group."""


class InvalidSessionTimeout(Refusal):
    """The session time-out is outside the allowed range."""


class RebalanceInProgress(Refusal):
    """The group is changing; join again."""


class OffsetMetadataTooLarge(Refusal):
    """The metadata beside a committed offset is too long."""


class UnsupportedVersion(Refusal):
    """The request needs a feature that its version, or this broker, does not have."""


class PeerFailed(Refusal):
    """Another node failed, or refused in a way unknown here. Whether it happened is unknown."""
