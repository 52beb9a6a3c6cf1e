"""Explanations of a node's refusals: an exit code, what happened, and what to do."""

from typing import NamedTuple

from duolog.cli.failures import ExitCode, Failure
from duolog.client.cluster_operator import NODE_ALONE
from duolog.client.errors import ClientError, Garbled, Refused, Unreachable
from duolog.client.operator import NO_MESSAGE


class Explanation(NamedTuple):
    code: ExitCode
    what: str
    advice: str


_SAID = "{subject}: {message}"
_FAILED, _USAGE, _ABSENT, _DENIED = (
    ExitCode.FAILED,
    ExitCode.USAGE,
    ExitCode.NOT_FOUND,
    ExitCode.NOT_ALLOWED,
)
_LOGGED = Explanation(_FAILED, _SAID, "The node's log says more.")
"""Internal errors of the node, which it logs with a traceback."""
_OTHER = Explanation(
    _FAILED, _SAID, "Run it again; if that does not help, ask whoever runs the node."
)
_CHANGING = Explanation(
    _FAILED, _SAID, "Run `duolog cluster status` to see which nodes are alive, then run it again."
)
_WRONG_VALUE = Explanation(_USAGE, _SAID, "Correct it and run the command again.")
_HAS_MEMBERS = Explanation(
    _DENIED, "{subject} has members, which would overwrite this", "Stop its consumers first."
)
_CREDENTIALS = Explanation(
    _DENIED, _SAID, "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do."
)

EXPLANATIONS: dict[str, Explanation] = {
    "UNKNOWN_TOPIC_OR_PARTITION": Explanation(
        _ABSENT, "There is no {subject}", "Run `duolog topic ls` to see which there are."
    ),
    "GROUP_ID_NOT_FOUND": Explanation(
        _ABSENT, "There is no {subject}", "Run `duolog group ls` to see which there are."
    ),
    "TOPIC_ALREADY_EXISTS": Explanation(
        _FAILED, "There is a {subject} already", "Choose another name, or use this one."
    ),
    "INVALID_TOPIC_EXCEPTION": Explanation(_USAGE, _SAID, "Choose another name."),
    "INVALID_PARTITIONS": _WRONG_VALUE,
    "INVALID_REPLICATION_FACTOR": _WRONG_VALUE,
    "INVALID_CONFIG": Explanation(
        _USAGE, _SAID, "Run `duolog config reference` to see what a topic can be told."
    ),
    "INVALID_GROUP_ID": _WRONG_VALUE,
    "TOPIC_DELETION_DISABLED": Explanation(
        _DENIED, _SAID, "Start the node with `--set delete.topic.enable=true`."
    ),
    "POLICY_VIOLATION": Explanation(_DENIED, _SAID, "Ask whoever runs the node."),
    "NON_EMPTY_GROUP": _HAS_MEMBERS,
    "UNKNOWN_MEMBER_ID": _HAS_MEMBERS,
    "GROUP_SUBSCRIBED_TO_TOPIC": _HAS_MEMBERS,
    "OFFSET_OUT_OF_RANGE": Explanation(
        _FAILED,
        "{subject} no longer has the records that were asked for",
        "Start again with `--offset start`.",
    ),
    "MESSAGE_TOO_LARGE": Explanation(
        _FAILED, _SAID, "Send less at once, or raise the topic's max.message.bytes."
    ),
    "UNSUPPORTED_VERSION": Explanation(_FAILED, _SAID, "Upgrade the node, or this command."),
    "QueueDoesNotExist": Explanation(
        _ABSENT, "There is no {subject}", "Run `duolog queue ls` to see which there are."
    ),
    NO_MESSAGE: Explanation(
        _ABSENT, _SAID, "Run `duolog queue peek` without --id to see which there are."
    ),
    "ResourceNotFoundException": Explanation(
        _ABSENT, _SAID, "Run `duolog queue ls` to see which queues there are."
    ),
    "QueueNameExists": Explanation(
        _FAILED,
        "There is a {subject} already, with other attributes",
        "Choose another name, or use this one.",
    ),
    "QueueDeletedRecently": Explanation(
        _FAILED, "A {subject} was deleted a moment ago", "Wait a minute, then create it again."
    ),
    "PurgeQueueInProgress": Explanation(
        _FAILED, "{subject} was purged a moment ago", "Wait a minute, then purge it again."
    ),
    "AccessDenied": _CREDENTIALS,
    "IncompleteSignature": _CREDENTIALS,
    "InvalidClientTokenId": _CREDENTIALS,
    "InvalidSecurity": _CREDENTIALS,
    "MissingAuthenticationToken": _CREDENTIALS,
    "RequestExpired": Explanation(_DENIED, _SAID, "Set this machine's clock."),
    "SignatureDoesNotMatch": _CREDENTIALS,
    "InvalidAddress": _WRONG_VALUE,
    "InvalidAttributeName": _WRONG_VALUE,
    "InvalidAttributeValue": _WRONG_VALUE,
    "InvalidMessageContents": _WRONG_VALUE,
    "InvalidParameterValue": _WRONG_VALUE,
    "InvalidParameterCombination": _WRONG_VALUE,
    "MissingParameter": _WRONG_VALUE,
    "UnsupportedOperation": _WRONG_VALUE,
    "InternalFailure": _LOGGED,
    "LEADER_NOT_AVAILABLE": _CHANGING,
    "NOT_LEADER_OR_FOLLOWER": _CHANGING,
    "NOT_CONTROLLER": _CHANGING,
    "NOT_COORDINATOR": _CHANGING,
    "COORDINATOR_NOT_AVAILABLE": _CHANGING,
    "NOT_ENOUGH_REPLICAS": _CHANGING,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": _CHANGING,
    NODE_ALONE: Explanation(
        _FAILED,
        "The node that was asked is alone, or has not joined its cluster yet",
        "Name a node of a cluster with --admin, or a local cluster with --data.",
    ),
    "HTTP 400": _WRONG_VALUE,
    "HTTP 401": _CREDENTIALS,
    "HTTP 403": Explanation(_DENIED, _SAID, "Run it on the node's machine, with --admin."),
    "HTTP 500": _LOGGED,
    "HTTP 503": Explanation(_FAILED, _SAID, "Wait a moment, then run it again."),
}


def explain(error: ClientError, meant: str | None = None) -> Failure:
    """The explanation of any error of the client.

    `meant` is the name that was probably meant by one that does not exist.
    """
    match error:
        case Unreachable():
            advice = (
                "Check that a node serves there, or name another address with --kafka, --sqs or"
                " --admin."
            )
            return Failure(f"{_sentence(str(error))} {advice}", ExitCode.UNREACHABLE)
        case Garbled():
            advice = "Check that the address is that of a node."
            return Failure(f"{_sentence(str(error))} {advice}", ExitCode.FAILED)
        case Refused():
            found = EXPLANATIONS.get(error.name, _OTHER)
            message = error.message or f"the node answered {error.name}"
            what = found.what.format(subject=error.subject, message=message)
            advice = f"Did you mean '{meant}'? {found.advice}" if meant else found.advice
            return Failure(f"{_sentence(what)} {advice}", found.code)
        case _:
            return Failure(f"{_sentence(str(error))} {_OTHER.advice}", ExitCode.FAILED)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
