"""Names that the API itself gives to attributes of messages."""

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
"""System attributes that a receive can ask for."""
