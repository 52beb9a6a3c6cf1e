"""The names that the API itself gives to attributes of queues and messages."""

QUEUE_ATTRIBUTES = frozenset(
    {
        "All",
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
        "ContentBasedDeduplication",
        "CreatedTimestamp",
        "DeduplicationScope",
        "DelaySeconds",
        "FifoQueue",
        "FifoThroughputLimit",
        "KmsDataKeyReusePeriodSeconds",
        "KmsMasterKeyId",
        "LastModifiedTimestamp",
        "MaximumMessageSize",
        "MessageRetentionPeriod",
        "Policy",
        "QueueArn",
        "ReceiveMessageWaitTimeSeconds",
        "RedriveAllowPolicy",
        "RedrivePolicy",
        "SqsManagedSseEnabled",
        "VisibilityTimeout",
    }
)

MESSAGE_SYSTEM_ATTRIBUTES = frozenset(
    {
        "AWSTraceHeader",
        "All",
        "ApproximateFirstReceiveTimestamp",
        "ApproximateReceiveCount",
        "DeadLetterQueueSourceArn",
        "MessageDeduplicationId",
        "MessageGroupId",
        "SenderId",
        "SentTimestamp",
        "SequenceNumber",
    }
)
"""What a receive can ask for."""

SENDABLE_SYSTEM_ATTRIBUTES = frozenset({"AWSTraceHeader"})
"""What a send can give."""
