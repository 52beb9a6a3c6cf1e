"""The names that the API itself gives to attributes of messages."""

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
