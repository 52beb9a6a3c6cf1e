"""Refusals that only queues know, named as on the SQS wire.

The SQS door translates them once, together with those of errors.py (sqs_api/faults.py); a test
proves its table total. The Kafka door never meets them.
"""

from duolog.model.errors import Refusal


class QueueRefusal(Refusal):
    """Request of an SQS client that was understood and refused."""


class MissingParameter(QueueRefusal):
    """A required parameter was not given."""


class InvalidParameterValue(QueueRefusal):
    """A parameter is outside its bounds, or of the wrong kind."""


class InvalidParameterCombination(QueueRefusal):
    """Parameters that cannot be given together."""


class InvalidAttributeName(QueueRefusal):
    """No queue attribute has this name, or it cannot be set."""


class InvalidAttributeValue(QueueRefusal):
    """A queue attribute cannot have this value."""


class QueueDoesNotExist(QueueRefusal):
    """There is no queue of this name."""


class QueueNameExists(QueueRefusal):
    """A queue of this name exists already, with other attributes."""


class QueueDeletedRecently(QueueRefusal):
    """A queue of this name was deleted a moment ago."""


class PurgeQueueInProgress(QueueRefusal):
    """The queue was purged a moment ago."""


class OverLimit(QueueRefusal):
    """A maximum is reached: messages in flight, permissions, tags."""


class InvalidMessageContents(QueueRefusal):
    """The body has characters that no message may have."""


class UnsupportedOperation(QueueRefusal):
    """Operation that this kind of queue does not support."""


class ReceiptHandleIsInvalid(QueueRefusal):
    """Receipt that is not this queue's, or has been tampered with."""


class MessageNotInflight(QueueRefusal):
    """The message is not in flight, so its visibility cannot be changed."""


class ResourceNotFound(QueueRefusal):
    """The resource in an ARN or task handle does not exist."""


class EmptyBatchRequest(QueueRefusal):
    """A batch without entries."""


class TooManyEntriesInBatchRequest(QueueRefusal):
    """A batch of more than ten entries."""


class BatchEntryIdsNotDistinct(QueueRefusal):
    """Two entries of a batch have the same id."""


class InvalidBatchEntryId(QueueRefusal):
    """Batch entry id that is too long, or has characters other than letters, digits, - and _."""


class BatchRequestTooLong(QueueRefusal):
    """The messages of a batch together exceed the largest size of one message."""


class RequestThrottled(QueueRefusal):
    """Too many requests at once. Try again later."""


class AccessDenied(QueueRefusal):
    """The signature is wrong or missing, or anonymous requests from this address are not
    allowed."""


class SerializationException(QueueRefusal):
    """The request is not valid JSON, nests too deeply, or has a member of the wrong type."""


class MissingAuthenticationToken(AccessDenied):
    """The request is not signed at all."""


class InvalidSecurity(AccessDenied):
    """The request is not signed with Signature Version 4."""


class IncompleteSignature(AccessDenied):
    """The signature lacks a part, or a part of it is malformed."""


class InvalidClientTokenId(AccessDenied):
    """Access key that belongs to nobody."""


class SignatureDoesNotMatch(AccessDenied):
    """The signature differs from the one that the secret key makes of this request."""


class RequestExpired(AccessDenied):
    """The request was signed too long ago, or for a time that has not come yet."""


class MissingAction(QueueRefusal):
    """The request names no action."""


class InvalidAction(QueueRefusal):
    """There is no such action."""
