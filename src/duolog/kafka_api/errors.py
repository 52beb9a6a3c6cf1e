"""The table from every refusal to Kafka's error code. A test proves the table total."""

from duolog.model import errors as refused
from duolog.model.errors import Refusal
from duolog.wire.kafka.error_codes import ErrorCode

CODES: dict[type[Refusal], ErrorCode] = {
    refused.InvalidRequest: ErrorCode.INVALID_REQUEST,
    refused.InvalidTopic: ErrorCode.INVALID_TOPIC_EXCEPTION,
    refused.TopicExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    refused.UnknownTopicOrPartition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    refused.UnknownTopicId: ErrorCode.UNKNOWN_TOPIC_ID,
    refused.TopicDeletionDisabled: ErrorCode.TOPIC_DELETION_DISABLED,
    refused.InvalidPartitions: ErrorCode.INVALID_PARTITIONS,
    refused.InvalidReplicationFactor: ErrorCode.INVALID_REPLICATION_FACTOR,
    refused.InvalidReplicaAssignment: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    refused.NoReassignmentInProgress: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    refused.ElectionNotNeeded: ErrorCode.ELECTION_NOT_NEEDED,
    refused.PreferredLeaderNotAvailable: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    refused.EligibleLeadersNotAvailable: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    refused.InvalidConfig: ErrorCode.INVALID_CONFIG,
    refused.PolicyViolation: ErrorCode.POLICY_VIOLATION,
    refused.FencedLeaderEpoch: ErrorCode.FENCED_LEADER_EPOCH,
    refused.UnknownLeaderEpoch: ErrorCode.UNKNOWN_LEADER_EPOCH,
    refused.NotLeader: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    refused.LeadershipLost: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    refused.StaleBrokerEpoch: ErrorCode.STALE_BROKER_EPOCH,
    refused.OffsetNotAvailable: ErrorCode.OFFSET_NOT_AVAILABLE,
    refused.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    refused.CorruptBatch: ErrorCode.CORRUPT_MESSAGE,
    refused.InvalidRecord: ErrorCode.INVALID_RECORD,
    refused.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    refused.UnsupportedFormat: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    refused.UnsupportedCompression: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    refused.BatchTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    refused.InvalidRequiredAcks: ErrorCode.INVALID_REQUIRED_ACKS,
    refused.NotEnoughReplicas: ErrorCode.NOT_ENOUGH_REPLICAS,
    refused.RequestTimedOut: ErrorCode.REQUEST_TIMED_OUT,
    refused.StorageFailed: ErrorCode.KAFKA_STORAGE_ERROR,
    refused.DiskFull: ErrorCode.KAFKA_STORAGE_ERROR,
    refused.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    refused.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    # The only code at which every client gives up: librdkafka retries any other for ever.
    refused.TransactionsUnsupported: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    refused.FetchSessionNotFound: ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    refused.InvalidFetchSessionEpoch: ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    refused.CoordinatorNotAvailable: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    refused.CoordinatorLoading: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    refused.NotCoordinator: ErrorCode.NOT_COORDINATOR,
    refused.InvalidGroupId: ErrorCode.INVALID_GROUP_ID,
    refused.GroupIdNotFound: ErrorCode.GROUP_ID_NOT_FOUND,
    refused.GroupNotEmpty: ErrorCode.NON_EMPTY_GROUP,
    refused.GroupSubscribedToTopic: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    refused.GroupMaxSizeReached: ErrorCode.GROUP_MAX_SIZE_REACHED,
    refused.UnknownMember: ErrorCode.UNKNOWN_MEMBER_ID,
    refused.MemberIdRequired: ErrorCode.MEMBER_ID_REQUIRED,
    refused.FencedInstanceId: ErrorCode.FENCED_INSTANCE_ID,
    refused.IllegalGeneration: ErrorCode.ILLEGAL_GENERATION,
    refused.InconsistentGroupProtocol: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    refused.InvalidSessionTimeout: ErrorCode.INVALID_SESSION_TIMEOUT,
    refused.RebalanceInProgress: ErrorCode.REBALANCE_IN_PROGRESS,
    refused.OffsetMetadataTooLarge: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    refused.UnsupportedVersion: ErrorCode.UNSUPPORTED_VERSION,
    refused.PeerFailed: ErrorCode.REQUEST_TIMED_OUT,
}


def code_of(refusal: Refusal) -> int:
    return int(CODES[type(refusal)])
