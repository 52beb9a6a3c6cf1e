"""Errors that an SQS client can get, as each of the two protocols spells them.

sqs_api/faults.py maps refusals to errors. Statuses and codes are those of the public API reference;
older codes, which the Query protocol had first, are also sent with JSON in a header, because
clients that moved to JSON still compare with them.
"""

from collections.abc import Mapping
from typing import NamedTuple

_OWN = "com.amazonaws.sqs"
_SHARED = "com.amazon.coral.service"
"""Namespace of errors that all AWS services share, which are not part of the API's model."""

_OLDER = "AWS.SimpleQueueService."


class Fault(NamedTuple):
    """One error, ready to be encoded."""

    code: str
    """Name of the error in JSON; for errors of the model, the name of their shape."""
    query_code: str
    """Code of the error in the Query protocol."""
    http_status: int
    message: str
    sender: bool = True
    """True if the client is at fault, False if the server is."""
    namespace: str = _OWN

    @property
    def json_type(self) -> str:
        return f"{self.namespace}#{self.code}"

    @property
    def query_error(self) -> bytes:
        """Value of the x-amzn-query-error header."""
        return f"{self.query_code};{self.type}".encode("latin-1")

    @property
    def type(self) -> str:
        return "Sender" if self.sender else "Receiver"


def _own(code: str, message: str, status: int = 400, query_code: str | None = None) -> Fault:
    return Fault(code, query_code or code, status, message)


def _shared(name: str, code: str, message: str, status: int = 400, sender: bool = True) -> Fault:
    return Fault(code, name, status, message, sender, _SHARED)


_TABLE = (
    _own(
        "BatchEntryIdsNotDistinct",
        "Two or more batch entries in the request have the same Id.",
        query_code=_OLDER + "BatchEntryIdsNotDistinct",
    ),
    _own(
        "BatchRequestTooLong",
        "The length of all the messages put together is more than the limit.",
        query_code=_OLDER + "BatchRequestTooLong",
    ),
    _own(
        "EmptyBatchRequest",
        "The batch request doesn't contain any entries.",
        query_code=_OLDER + "EmptyBatchRequest",
    ),
    _own("InvalidAddress", "The specified ID is invalid.", status=404),
    _own("InvalidAttributeName", "The specified attribute doesn't exist."),
    _own("InvalidAttributeValue", "A queue attribute value is invalid."),
    _own(
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
        "It can be at most 80 letters long.",
        query_code=_OLDER + "InvalidBatchEntryId",
    ),
    _own("InvalidIdFormat", "The specified receipt handle isn't valid for this version."),
    _own("InvalidMessageContents", "The message contains characters outside the allowed set."),
    _own("InvalidSecurity", "The request was not signed with Signature Version 4.", status=403),
    _own(
        "KmsAccessDenied",
        "The caller doesn't have the required access to the key.",
        query_code="KMS.AccessDeniedException",
    ),
    _own("KmsDisabled", "The key isn't enabled.", query_code="KMS.DisabledException"),
    _own(
        "KmsInvalidKeyUsage",
        "The key cannot be used for this operation.",
        query_code="KMS.InvalidKeyUsageException",
    ),
    _own(
        "KmsInvalidState",
        "The state of the key isn't valid for this request.",
        query_code="KMS.InvalidStateException",
    ),
    _own("KmsNotFound", "The key can't be found.", query_code="KMS.NotFoundException"),
    _own(
        "KmsOptInRequired",
        "The specified key policy isn't syntactically or semantically correct.",
        status=403,
        query_code="KMS.OptInRequired",
    ),
    _own(
        "KmsThrottled",
        "Requests for the key were throttled.",
        query_code="KMS.ThrottlingException",
    ),
    _own(
        "MessageNotInflight",
        "The specified message isn't in flight.",
        query_code=_OLDER + "MessageNotInflight",
    ),
    _own("OverLimit", "The action violates a limit.", status=403),
    _own(
        "PurgeQueueInProgress",
        "Only one PurgeQueue operation is allowed every 60 seconds.",
        status=403,
        query_code=_OLDER + "PurgeQueueInProgress",
    ),
    _own(
        "QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the "
        "same name.",
        query_code=_OLDER + "QueueDeletedRecently",
    ),
    _own(
        "QueueDoesNotExist",
        "The specified queue does not exist.",
        query_code=_OLDER + "NonExistentQueue",
    ),
    _own(
        "QueueNameExists",
        "A queue already exists with the same name and a different value for an attribute.",
        query_code="QueueAlreadyExists",
    ),
    _own("ReceiptHandleIsInvalid", "The input receipt handle is invalid."),
    _own("RequestThrottled", "Rate exceeded.", status=403),
    _own("ResourceNotFoundException", "The resource that you specified doesn't exist.", status=404),
    _own(
        "TooManyEntriesInBatchRequest",
        "Maximum number of entries per request are 10.",
        query_code=_OLDER + "TooManyEntriesInBatchRequest",
    ),
    _own(
        "UnsupportedOperation",
        "Unsupported operation.",
        query_code=_OLDER + "UnsupportedOperation",
    ),
    _shared(
        "AccessDenied",
        "AccessDeniedException",
        "Access to the resource is denied.",
        status=403,
    ),
    _shared(
        "IncompleteSignature",
        "IncompleteSignatureException",
        "The request signature does not conform to AWS standards.",
        status=403,
    ),
    _shared(
        "InternalFailure",
        "InternalFailure",
        "The request processing has failed because of an unknown error.",
        status=500,
        sender=False,
    ),
    _shared("InvalidAction", "UnknownOperationException", "The action is not valid."),
    _shared(
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
        status=403,
    ),
    _shared(
        "InvalidParameterCombination",
        "InvalidParameterCombinationException",
        "Parameters that must not be used together were used together.",
    ),
    _shared("InvalidParameterValue", "InvalidParameterValueException", "A value is invalid."),
    _shared(
        "MissingAction",
        "MissingActionException",
        "The request is missing an action or a required parameter.",
    ),
    _shared(
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "Request is missing Authentication Token",
        status=403,
    ),
    _shared(
        "MissingParameter",
        "MissingRequiredParameterException",
        "A required parameter is not supplied.",
    ),
    _shared("RequestExpired", "RequestExpiredException", "The request has expired."),
    _shared(
        "SerializationException",
        "SerializationException",
        "The request could not be understood.",
    ),
    _shared(
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "The request has failed due to a temporary failure of the server.",
        status=503,
        sender=False,
    ),
    _shared(
        "SignatureDoesNotMatch",
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. Check "
        "your AWS Secret Access Key and signing method.",
        status=403,
    ),
)

FAULTS: Mapping[str, Fault] = {
    fault.code if fault.namespace == _OWN else fault.query_code: fault for fault in _TABLE
}
"""Errors by name: the shape's name for errors of the model, the reference's for shared ones.

Each carries a message for when there is nothing more specific to say.
"""


def fault(name: str, message: str = "") -> Fault:
    """The error of this name, with its default message or the one given."""
    found = FAULTS[name]
    return found._replace(message=message) if message else found
