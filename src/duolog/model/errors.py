"""Refusals: the expected ways in which a request fails.

Each door translates them once (kafka_api/errors.py); a test proves its table total.
"""


class Refusal(Exception):
    """Request that was understood and refused. Its text is for the client."""


class InvalidRequest(Refusal):
    """The request contradicts itself or lacks something."""


class InvalidTopic(Refusal):
    """Name that no topic may have."""


class TopicExists(Refusal):
    """A topic of that name exists already."""


class UnknownTopicOrPartition(Refusal):
    """There is no such topic, or it has no such partition."""


class UnknownTopicId(Refusal):
    """No topic has this id."""


class TopicDeletionDisabled(Refusal):
    """Topics may not be deleted here."""


class InvalidPartitions(Refusal):
    """Partition count that is not allowed."""


class InvalidReplicationFactor(Refusal):
    """More replicas were requested than there are brokers."""


class InvalidReplicaAssignment(Refusal):
    """Replica assignment that names unknown brokers or skips partitions."""


class NoReassignmentInProgress(Refusal):
    """The partition is not being moved to other brokers."""


class ElectionNotNeeded(Refusal):
    """The partition already has the leader that the election would choose."""


class PreferredLeaderNotAvailable(Refusal):
    """The first of the partition's replicas is not alive, or lacks acknowledged records."""


class EligibleLeadersNotAvailable(Refusal):
    """No live replica may lead the partition."""


class InvalidConfig(Refusal):
    """Setting that is unknown, out of bounds, or not supported."""


class PolicyViolation(Refusal):
    """Violation of a rule of this cluster."""


class FencedLeaderEpoch(Refusal):
    """The request names an older leader epoch than the partition has."""


class UnknownLeaderEpoch(Refusal):
    """The request names a newer leader epoch than this broker knows."""


class NotLeader(Refusal):
    """This node does not lead the partition, or no longer does."""


class LeadershipLost(NotLeader):
    """Leadership ended before the request was confirmed; it may or may not have taken effect."""


class StaleBrokerEpoch(Refusal):
    """The requesting node has been started again since it connected."""


class OffsetNotAvailable(Refusal):
    """A new leader does not know the high watermark yet."""


class OffsetOutOfRange(Refusal):
    """The offset is below the start or above the end of the partition."""


class CorruptBatch(Refusal):
    """Record batch whose length, magic, checksum or content is wrong."""


class InvalidRecord(Refusal):
    """Well-formed batch that this topic does not accept."""


class InvalidTimestamp(Refusal):
    """Timestamp outside the range that the topic accepts."""


class UnsupportedFormat(Refusal):
    """Message format older than record batches."""


class UnsupportedCompression(Refusal):
    """Compression that is unknown."""


class BatchTooLarge(Refusal):
    """Batch larger than the topic's `max.message.bytes`, or than the limit when decompressed."""


class InvalidRequiredAcks(Refusal):
    """acks is neither 0, 1 nor all."""


class NotEnoughReplicas(Refusal):
    """Fewer replicas are in sync than `min.insync.replicas`; nothing was appended."""


class RequestTimedOut(Refusal):
    """The request was not confirmed in time; it may or may not have taken effect."""


class StorageFailed(Refusal):
    """The disk refused a write or a sync, or this log directory is fenced."""


class DiskFull(StorageFailed):
    """A disk has no room for new records; nothing was stored."""


class OutOfOrderSequence(Refusal):
    """A producer's batch does not follow its previous one."""


class InvalidProducerEpoch(Refusal):
    """The producer was fenced by a newer epoch."""


class TransactionsUnsupported(Refusal):
    """Transactions are not supported."""


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
    """Group id that is not allowed."""


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
    """Another node failed, or refused in a way unknown here; the request may have taken effect."""
