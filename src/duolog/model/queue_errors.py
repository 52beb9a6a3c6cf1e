"""Refusals that only queues know, named as on the SQS wire.

The SQS door translates them once, together with those of errors.py (sqs_api/faults.py); a
test proves its table total. The Kafka door never meets them.
"""

from duolog.model.errors import Refusal


class QueueRefusal(Refusal):
    """Something that an SQS client asked for was understood and not done."""


class MissingParameter(QueueRefusal):
    """A required parameter was not given."""


class InvalidParameterValue(QueueRefusal):
    """A parameter is outside its bounds, or of the wrong kind."""


class InvalidParameterCombination(QueueRefusal):
    """Parameters that cannot be given together."""


class InvalidAttributeName(QueueRefusal):
    """There is no queue attribute of this name, or it cannot be set."""


class InvalidAttributeValue(QueueRefusal):
    """A queue attribute cannot have this value."""


class QueueDoesNotExist(QueueRefusal):
    """There is no queue of this name."""


class QueueNameExists(QueueRefusal):
    """A queue of this name is there already, with other attributes."""


class QueueDeletedRecently(QueueRefusal):
    """A queue of this name was deleted a moment ago."""


class PurgeQueueInProgress(QueueRefusal):
    """The queue was purged a moment ago."""


class OverLimit(QueueRefusal):
    """A maximum is reached: messages in flight, permissions, tags."""


class InvalidMessageContents(QueueRefusal):
    """The body has characters that no message may have."""


class UnsupportedOperation(QueueRefusal):
    """Something that this kind of queue cannot do."""


class ReceiptHandleIsInvalid(QueueRefusal):
    """No receipt of this queue, or one that has been tampered with."""


class MessageNotInflight(QueueRefusal):
    """The message is not hidden now, so its visibility cannot be changed."""


class ResourceNotFound(QueueRefusal):
    """What an ARN or a task handle names does not exist."""


class EmptyBatchRequest(QueueRefusal):
    """A batch without entries."""


class TooManyEntriesInBatchRequest(QueueRefusal):
    """A batch of more than ten entries."""


class BatchEntryIdsNotDistinct(QueueRefusal):
    """Two entries of a batch have the same id."""


class InvalidBatchEntryId(QueueRefusal):
    """An id of a batch entry that is too long, or has more than letters, digits, - and _."""


class BatchRequestTooLong(QueueRefusal):
    """The messages of a batch are together longer than one message may be."""


class RequestThrottled(QueueRefusal):
    """Too much at once. Try again later."""


class AccessDenied(QueueRefusal):
    """The signature is wrong or missing, or nobody unknown may ask from where this came."""


class SerializationException(QueueRefusal):
    """The request is no JSON, nests too deeply, or has a member of the wrong type."""


class MissingAuthenticationToken(AccessDenied):
    """The request is not signed at all."""


class InvalidSecurity(AccessDenied):
    """The request is signed in another way than Signature Version 4."""


class IncompleteSignature(AccessDenied):
    """The signature lacks a part, or a part of it is malformed."""


class InvalidClientTokenId(AccessDenied):
    """Nobody is known by this access key."""


class SignatureDoesNotMatch(AccessDenied):
    """The signature is not the one that the secret key makes of this request."""


class RequestExpired(AccessDenied):
    """The request was signed too long ago, or for a time that has not come yet."""


class MissingAction(QueueRefusal):
    """The request does not say what it asks for."""


class InvalidAction(QueueRefusal):
    """There is no such action."""
