"""The table from every refusal to SQS's error. A test proves the table total."""

from duolog.model import errors as refused
from duolog.model import queue_errors as queue_refused
from duolog.model.errors import Refusal
from duolog.wire.sqs.errors import Fault, fault
from duolog.wire.sqs.messages import BatchResultErrorEntry

_BY_NAME: dict[type[Refusal], str] = {
    kind: kind.__name__
    for kind in (
        queue_refused.AccessDenied,
        queue_refused.BatchEntryIdsNotDistinct,
        queue_refused.BatchRequestTooLong,
        queue_refused.EmptyBatchRequest,
        queue_refused.IncompleteSignature,
        queue_refused.InvalidAction,
        queue_refused.InvalidAttributeName,
        queue_refused.InvalidAttributeValue,
        queue_refused.InvalidBatchEntryId,
        queue_refused.InvalidClientTokenId,
        queue_refused.InvalidMessageContents,
        queue_refused.InvalidParameterCombination,
        queue_refused.InvalidParameterValue,
        queue_refused.InvalidSecurity,
        queue_refused.MessageNotInflight,
        queue_refused.MissingAction,
        queue_refused.MissingAuthenticationToken,
        queue_refused.MissingParameter,
        queue_refused.OverLimit,
        queue_refused.PurgeQueueInProgress,
        queue_refused.QueueDeletedRecently,
        queue_refused.QueueDoesNotExist,
        queue_refused.QueueNameExists,
        queue_refused.ReceiptHandleIsInvalid,
        queue_refused.RequestExpired,
        queue_refused.RequestThrottled,
        queue_refused.SerializationException,
        queue_refused.SignatureDoesNotMatch,
        queue_refused.TooManyEntriesInBatchRequest,
        queue_refused.UnsupportedOperation,
    )
}

MESSAGE_CHARS_MAX = 1_000
"""Limit of an error's text: refusals quote their input, which can be as long as a request."""

INTERNAL = "InternalFailure"
UNAVAILABLE = "ServiceUnavailable"

NAMES: dict[type[Refusal], str] = {
    **_BY_NAME,
    queue_refused.ResourceNotFound: "ResourceNotFoundException",
    # Refusals of the log and the metadata that can meet a queue as well as a topic.
    refused.InvalidRequest: "InvalidParameterValue",
    refused.InvalidTopic: "InvalidParameterValue",
    refused.TopicExists: "QueueNameExists",
    refused.UnknownTopicOrPartition: "QueueDoesNotExist",
    refused.UnknownTopicId: "QueueDoesNotExist",
    refused.TopicDeletionDisabled: "UnsupportedOperation",
    refused.InvalidConfig: "InvalidAttributeValue",
    refused.InvalidPartitions: "InvalidAttributeValue",
    refused.InvalidReplicationFactor: UNAVAILABLE,
    refused.PolicyViolation: "OverLimit",
    refused.BatchTooLarge: "InvalidParameterValue",
    refused.NotEnoughReplicas: UNAVAILABLE,
    refused.RequestTimedOut: UNAVAILABLE,
    refused.PeerFailed: UNAVAILABLE,
    refused.StorageFailed: UNAVAILABLE,
    refused.DiskFull: UNAVAILABLE,
    refused.FencedLeaderEpoch: UNAVAILABLE,
    refused.UnknownLeaderEpoch: UNAVAILABLE,
    refused.CoordinatorNotAvailable: UNAVAILABLE,
    refused.CoordinatorLoading: UNAVAILABLE,
    refused.NotLeader: UNAVAILABLE,
    refused.LeadershipLost: UNAVAILABLE,
    refused.OffsetNotAvailable: UNAVAILABLE,
    # Refusals that only a Kafka client can cause; here they are a bug of ours.
    refused.InvalidReplicaAssignment: INTERNAL,
    refused.OffsetOutOfRange: INTERNAL,
    refused.CorruptBatch: INTERNAL,
    refused.InvalidRecord: INTERNAL,
    refused.InvalidTimestamp: INTERNAL,
    refused.UnsupportedFormat: INTERNAL,
    refused.UnsupportedCompression: INTERNAL,
    refused.InvalidRequiredAcks: INTERNAL,
    refused.OutOfOrderSequence: INTERNAL,
    refused.InvalidProducerEpoch: INTERNAL,
    refused.TransactionsUnsupported: INTERNAL,
    refused.FetchSessionNotFound: INTERNAL,
    refused.InvalidFetchSessionEpoch: INTERNAL,
    refused.InvalidGroupId: INTERNAL,
    refused.GroupIdNotFound: INTERNAL,
    refused.GroupNotEmpty: INTERNAL,
    refused.GroupSubscribedToTopic: INTERNAL,
    refused.GroupMaxSizeReached: INTERNAL,
    refused.UnknownMember: INTERNAL,
    refused.MemberIdRequired: INTERNAL,
    refused.FencedInstanceId: INTERNAL,
    refused.IllegalGeneration: INTERNAL,
    refused.InconsistentGroupProtocol: INTERNAL,
    refused.InvalidSessionTimeout: INTERNAL,
    refused.RebalanceInProgress: INTERNAL,
    refused.OffsetMetadataTooLarge: INTERNAL,
    refused.UnsupportedVersion: INTERNAL,
    refused.EligibleLeadersNotAvailable: INTERNAL,
    refused.PreferredLeaderNotAvailable: INTERNAL,
    refused.ElectionNotNeeded: INTERNAL,
    refused.NoReassignmentInProgress: INTERNAL,
    refused.NotCoordinator: INTERNAL,
    refused.StaleBrokerEpoch: INTERNAL,
}


def fault_of(refusal: Refusal) -> Fault:
    message = str(refusal)
    if len(message) > MESSAGE_CHARS_MAX:
        message = f"{message[:MESSAGE_CHARS_MAX]}..."
    return fault(NAMES[type(refusal)], message)


def error_entry(entry_id: str, refusal: Refusal) -> BatchResultErrorEntry:
    """A batch's error entry for one message.

    Carries the query protocol's code in both protocols, because clients of either compare entries
    with that one.
    """
    found = fault_of(refusal)
    return BatchResultErrorEntry(entry_id, found.sender, found.query_code, found.message)
