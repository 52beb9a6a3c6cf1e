"""Every action of the API is served, and every place that an action needs has it."""

import botocore.session
from tests.unit.sqs_api.actions.test_queues import OF_A_QUEUE

from duolog.sqs_api.dispatch import MOVING, WAITING
from duolog.sqs_api.usage import TALLIES
from duolog.wire.sqs.apis import ACTIONS

MODEL = botocore.session.get_session().get_service_model("sqs")
SETTLING_ONLY = {"ChangeMessageVisibility", "ChangeMessageVisibilityBatch"}
"""Serve messages that were received already: usage counts them with `other`."""


def test_every_action_of_the_public_model_is_known() -> None:
    assert [
        f'add `Action("{name}", messages.{name}Request, messages.{name}Result or None),` to'
        " _ACTIONS in src/duolog/wire/sqs/apis.py"
        for name in MODEL.operation_names
        if name not in ACTIONS
    ] == []
    assert not ACTIONS.keys() - set(MODEL.operation_names)


def test_every_action_that_is_known_is_served_once() -> None:
    assert [
        f'add `"{name}": <module of the action>.handle,` to WAITING (or, if it moves messages, to'
        " MOVING) in src/duolog/sqs_api/dispatch.py"
        for name in ACTIONS
        if name not in MOVING and name not in WAITING
    ] == []
    assert not (MOVING.keys() | WAITING.keys()) - ACTIONS.keys()
    assert not MOVING.keys() & WAITING.keys()


def test_modules_are_named_for_their_actions() -> None:
    handlers = [(name, handle) for name, handle in WAITING.items()]
    handlers += [(name, each) for name, both in MOVING.items() for each in both if each]
    for name, handle in handlers:
        module = handle.__module__.rpartition(".")[2]
        assert "".join(part.title() for part in module.split("_")) == name


def test_usage_knows_what_every_action_that_moves_messages_counts_as() -> None:
    assert [
        f'add `"{name}": "sent", "received" or "deleted",` to TALLIES in'
        " src/duolog/sqs_api/usage.py"
        for name in MOVING.keys() - SETTLING_ONLY
        if name not in TALLIES
    ] == []
    assert not TALLIES.keys() - MOVING.keys()


def test_every_action_on_a_queue_is_tried_on_one_that_is_not_there() -> None:
    tried = {name for name, _ in OF_A_QUEUE}
    assert [
        f'add `("{name}", {{<parameters beside QueueUrl>}}),` to OF_A_QUEUE in'
        " tests/unit/sqs_api/actions/test_queues.py"
        for name in ACTIONS
        if "QueueUrl" in MODEL.operation_model(name).input_shape.members and name not in tried
    ] == []
