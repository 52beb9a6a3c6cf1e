"""The public model of SQS, walked over the wire: nothing of it is missing, in either protocol."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from tests.clients.sqs import tour
from tests.clients.sqs.provocations import (
    NOT_HERE,
    NOT_OF,
    PROVOCATIONS,
    WITHOUT_URL,
    minimal,
)
from tests.clients.sqs.recorder import Recorder, members
from tests.harness.node import Node
from tests.harness.sqs import Queue, client
from tests.unit.wire.sqs.public_model import (
    ENUMERATIONS,
    ERRORS,
    JSON_MODEL,
    OPERATIONS,
    QUERY_DESCRIPTION,
)

RESERVED = ("StringListValues", "BinaryListValues")
"""Members of an attribute that AWS reserves: refused when sent, so they never come back."""

READ_ONLY = {
    "All",
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "QueueArn",
}
NOT_EVERYWHERE = {"UnsupportedOperation"}
"""In the model of every action, though there is little that a queue does not support."""

PAIRS = [
    (action, error.name)
    for action in OPERATIONS
    for error in JSON_MODEL.operation_model(action).error_shapes
]
UNKNOWN_QUEUE = [action for action, error in PAIRS if error == "QueueDoesNotExist"]


Watched = tuple[Any, Recorder]


@pytest.fixture(scope="module")
def watched_client(node: Node, protocol: str) -> Watched:
    sqs = client(node.sqs, protocol)
    return sqs, Recorder(sqs)


@pytest.fixture
def watched(watched_client: Watched) -> Watched:
    """A client that has not been used yet, as far as anybody can tell."""
    watched_client[1].forget()
    return watched_client


@pytest.mark.parametrize("action", OPERATIONS)
def test_every_member_of_an_action_is_used(watched: Watched, action: str) -> None:
    sqs, seen = watched
    getattr(tour, xform_name(action))(sqs)
    model = JSON_MODEL.operation_model(action)
    assert seen.sent[action] == set(members(model.input_shape))
    expected = {path for path in members(model.output_shape) if not path.endswith(RESERVED)}
    assert seen.got[action] == expected


def test_every_queue_attribute_is_reported(watched: Watched) -> None:
    sqs, seen = watched
    tour.get_queue_attributes(sqs)
    names = ENUMERATIONS["QueueAttributeName"]
    assert seen.names["sent", "QueueAttributeName"] >= names
    assert seen.names["got", "QueueAttributeName"] == names - {"All"}


@pytest.mark.parametrize("action", [tour.create_queue, tour.set_queue_attributes])
def test_every_queue_attribute_can_be_set(watched: Watched, action: Any) -> None:
    sqs, seen = watched
    action(sqs)
    names = ENUMERATIONS["QueueAttributeName"]
    assert seen.names["sent", "QueueAttributeName"] >= names - READ_ONLY


def test_every_system_attribute_of_a_message_is_reported(watched: Watched) -> None:
    sqs, seen = watched
    tour.receive_message(sqs)
    names = ENUMERATIONS["MessageSystemAttributeName"]
    assert seen.names["sent", "MessageSystemAttributeName"] == names
    assert seen.names["got", "MessageSystemAttributeName"] == names - {"All"}
    sendable = ENUMERATIONS["MessageSystemAttributeNameForSends"]
    assert seen.names["sent", "MessageSystemAttributeNameForSends"] == sendable


def refused(error: str, sqs: Any, failure: ClientError) -> None:
    """The error has the class, code and status that clients of this protocol know it by."""
    expected = QUERY_DESCRIPTION["shapes"][error].get("error", {})
    assert isinstance(failure, getattr(sqs.exceptions, error)), failure
    told, around = failure.response["Error"], failure.response["ResponseMetadata"]
    assert told["Code"] == expected.get("code", error)
    assert told["Message"]
    status = around["HTTPStatusCode"]
    assert status == expected.get("httpStatusCode", status)
    assert 400 <= status < 500
    assert around["RequestId"]


@pytest.mark.parametrize(("action", "error"), PROVOCATIONS, ids=map("-".join, PROVOCATIONS))
def test_an_action_is_refused_as_the_model_says(
    sqs: Any, queue: Queue, action: str, error: str
) -> None:
    with pytest.raises(ClientError) as failure:
        PROVOCATIONS[action, error](sqs, queue)
    assert failure.value.operation_name == action
    refused(error, sqs, failure.value)


@pytest.mark.parametrize("action", UNKNOWN_QUEUE)
def test_an_action_on_a_queue_that_is_not_there_is_refused(
    sqs: Any, node: Node, action: str
) -> None:
    asked = minimal(action, f"http://{node.sqs}/000000000000/missing")
    with pytest.raises(ClientError) as failure:
        getattr(sqs, xform_name(action))(**asked)
    refused("QueueDoesNotExist", sqs, failure.value)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that knows who may ask."""
    with Node(tmp_path_factory.mktemp("guarded"), {"sqs.credentials": "key:secret"}) as node:
        yield node


@pytest.fixture(scope="module")
def stranger(guarded: Node, protocol: str) -> Any:
    """A client that signs its requests in another way than SQS asks for."""
    return client(guarded.sqs, protocol, signature_version="s3")


@pytest.mark.parametrize("action", OPERATIONS)
def test_an_action_that_is_signed_otherwise_is_refused(
    guarded: Node, stranger: Any, action: str
) -> None:
    asked = minimal(action, f"http://{guarded.sqs}/000000000000/missing")
    with pytest.raises(ClientError) as failure:
        getattr(stranger, xform_name(action))(**asked)
    refused("InvalidSecurity", stranger, failure.value)


def test_who_signs_as_sqs_asks_is_served(guarded: Node, protocol: str) -> None:
    queue = Queue.create(client(guarded.sqs, protocol))
    queue.send("x")
    (message,) = queue.receive()
    assert message["Attributes"]["SenderId"] == "key"


def test_every_error_of_an_action_is_provoked_or_explained() -> None:
    known = set(PROVOCATIONS) | set(NOT_OF)
    known |= {(action, "QueueDoesNotExist") for action in UNKNOWN_QUEUE}
    known |= {(action, "InvalidSecurity") for action in OPERATIONS}
    known |= {
        (action, error) for action, error in PAIRS if error in NOT_HERE.keys() | NOT_EVERYWHERE
    }
    assert known - set(PAIRS) == set()
    assert set(PAIRS) - known == set()


def test_every_error_of_the_model_is_provoked_or_explained() -> None:
    provoked = {error for _, error in PROVOCATIONS} | {"QueueDoesNotExist", "InvalidSecurity"}
    assert provoked | NOT_HERE.keys() == set(ERRORS)
    assert not provoked & NOT_HERE.keys()


def test_actions_without_a_queue_are_those_of_the_model() -> None:
    def has_url(action: str) -> bool:
        return "QueueUrl" in JSON_MODEL.operation_model(action).input_shape.members

    assert [action for action in OPERATIONS if not has_url(action)] == sorted(WITHOUT_URL)
