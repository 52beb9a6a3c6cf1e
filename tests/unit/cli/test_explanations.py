"""Every refusal is explained in two sentences."""

import re

import pytest

from duolog.cli.explanations import EXPLANATIONS, explain
from duolog.cli.failures import ExitCode
from duolog.client.cluster_operator import NODE_ALONE
from duolog.client.errors import ClientError, Garbled, Refused, Unreachable
from duolog.client.operator import NO_MESSAGE
from duolog.wire.kafka.error_codes import ErrorCode
from duolog.wire.sqs.errors import FAULTS

TWO_SENTENCES = re.compile(r"[A-Z].*[^.]\. [A-Z].*\.", re.DOTALL)


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_what_is_explained_exists(name: str) -> None:
    known = {*ErrorCode.__members__, *FAULTS, NO_MESSAGE, NODE_ALONE}
    assert name in known or name.startswith("HTTP ")


@pytest.mark.parametrize("name", [*ErrorCode.__members__, *FAULTS, "HTTP 403", "HTTP 503", "NEW"])
@pytest.mark.parametrize("message", ["", "it cannot be.", "it cannot be"])
def test_every_refusal_says_what_happened_and_what_to_do(name: str, message: str) -> None:
    failure = explain(Refused(name, "topic 'orders'", message))
    assert TWO_SENTENCES.fullmatch(str(failure))
    assert failure.code in (
        ExitCode.FAILED,
        ExitCode.USAGE,
        ExitCode.NOT_FOUND,
        ExitCode.NOT_ALLOWED,
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unreachable(("::1", 9092), "did not answer"), ExitCode.UNREACHABLE),
        (Garbled("what came is no answer"), ExitCode.FAILED),
        (ClientError("something else happened"), ExitCode.FAILED),
        (Refused("UNKNOWN_TOPIC_OR_PARTITION", "topic 'a'"), ExitCode.NOT_FOUND),
        (Refused("QueueDoesNotExist", "queue 'a'"), ExitCode.NOT_FOUND),
        (Refused(NO_MESSAGE, "queue 'a'"), ExitCode.NOT_FOUND),
        (Refused("HTTP 403", "queue 'a'"), ExitCode.NOT_ALLOWED),
        (Refused("SignatureDoesNotMatch", "queue 'a'"), ExitCode.NOT_ALLOWED),
        (Refused("NON_EMPTY_GROUP", "group 'a'"), ExitCode.NOT_ALLOWED),
        (Refused("InvalidAttributeValue", "queue 'a'"), ExitCode.USAGE),
    ],
)
def test_the_exit_code_tells_the_kind(error: ClientError, code: ExitCode) -> None:
    failure = explain(error)
    assert failure.code is code
    assert TWO_SENTENCES.fullmatch(str(failure))


def test_a_name_that_was_probably_meant_is_told() -> None:
    told = str(explain(Refused("UNKNOWN_TOPIC_OR_PARTITION", "topic 'order'"), "orders"))
    assert told.startswith("There is no topic 'order'. Did you mean 'orders'? Run")


@pytest.mark.parametrize("name", [*ErrorCode.__members__, *FAULTS, "HTTP 503", "NEW"])
def test_only_what_the_node_logs_sends_people_to_its_log(name: str) -> None:
    told = str(explain(Refused(name, "topic 'orders'", "it cannot be")))
    assert ("log says more" in told) == (name == "InternalFailure")
