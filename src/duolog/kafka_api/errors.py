"""Every refusal as Kafka's error code. A test proves the table total."""

from kio.schema.errors import ErrorCode

from duolog.model import errors as refused
from duolog.model.errors import Refusal

CODES: dict[type[Refusal], ErrorCode] = {
    refused.InvalidRequest: ErrorCode.invalid_request,
    refused.InvalidTopic: ErrorCode.invalid_topic_exception,
    refused.TopicExists: ErrorCode.topic_already_exists,
    refused.UnknownTopicOrPartition: ErrorCode.unknown_topic_or_partition,
    refused.UnknownTopicId: ErrorCode.unknown_topic_id,
    refused.TopicDeletionDisabled: ErrorCode.topic_deletion_disabled,
    refused.InvalidPartitions: ErrorCode.invalid_partitions,
    refused.InvalidReplicationFactor: ErrorCode.invalid_replication_factor,
    refused.InvalidReplicaAssignment: ErrorCode.invalid_replica_assignment,
    refused.InvalidConfig: ErrorCode.invalid_config,
    refused.PolicyViolation: ErrorCode.policy_violation,
    refused.NotLeader: ErrorCode.not_leader_or_follower,
    refused.NotController: ErrorCode.not_controller,
    refused.FencedLeaderEpoch: ErrorCode.fenced_leader_epoch,
    refused.UnknownLeaderEpoch: ErrorCode.unknown_leader_epoch,
    refused.OffsetOutOfRange: ErrorCode.offset_out_of_range,
    refused.CorruptBatch: ErrorCode.corrupt_message,
    refused.InvalidRecord: ErrorCode.invalid_record,
    refused.InvalidTimestamp: ErrorCode.invalid_timestamp,
    refused.UnsupportedFormat: ErrorCode.unsupported_for_message_format,
    refused.UnsupportedCompression: ErrorCode.unsupported_compression_type,
    refused.BatchTooLarge: ErrorCode.message_too_large,
    refused.InvalidRequiredAcks: ErrorCode.invalid_required_acks,
    refused.NotEnoughReplicas: ErrorCode.not_enough_replicas,
    refused.NotEnoughReplicasAfterAppend: ErrorCode.not_enough_replicas_after_append,
    refused.RequestTimedOut: ErrorCode.request_timed_out,
    refused.StorageFailed: ErrorCode.kafka_storage_error,
    refused.OutOfOrderSequence: ErrorCode.out_of_order_sequence_number,
    refused.InvalidProducerEpoch: ErrorCode.invalid_producer_epoch,
    # The one code at which every client gives up at once: librdkafka tries any other for ever.
    refused.TransactionsUnsupported: ErrorCode.transactional_id_authorization_failed,
    refused.FetchSessionNotFound: ErrorCode.fetch_session_id_not_found,
    refused.InvalidFetchSessionEpoch: ErrorCode.invalid_fetch_session_epoch,
    refused.CoordinatorNotAvailable: ErrorCode.coordinator_not_available,
    refused.CoordinatorLoading: ErrorCode.coordinator_load_in_progress,
    refused.InvalidGroupId: ErrorCode.invalid_group_id,
    refused.GroupIdNotFound: ErrorCode.group_id_not_found,
    refused.GroupNotEmpty: ErrorCode.non_empty_group,
    refused.GroupSubscribedToTopic: ErrorCode.group_subscribed_to_topic,
    refused.GroupMaxSizeReached: ErrorCode.group_max_size_reached,
    refused.UnknownMember: ErrorCode.unknown_member_id,
    refused.MemberIdRequired: ErrorCode.member_id_required,
    refused.FencedInstanceId: ErrorCode.fenced_instance_id,
    refused.IllegalGeneration: ErrorCode.illegal_generation,
    refused.InconsistentGroupProtocol: ErrorCode.inconsistent_group_protocol,
    refused.InvalidSessionTimeout: ErrorCode.invalid_session_timeout,
    refused.RebalanceInProgress: ErrorCode.rebalance_in_progress,
    refused.OffsetMetadataTooLarge: ErrorCode.offset_metadata_too_large,
    refused.UnsupportedVersion: ErrorCode.unsupported_version,
}


def code_of(refusal: Refusal) -> int:
    return int(CODES[type(refusal)])
