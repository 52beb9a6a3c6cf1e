"""Nothing of the public model is missing here, and nothing here is missing there."""

from typing import Any

import msgspec
import pytest
from botocore.model import Shape as ModelShape
from tests.unit.wire.sqs.public_model import (
    ENUMERATIONS,
    ERRORS,
    JSON_MODEL,
    OPERATIONS,
    QUERY_MODEL,
    STRUCTURES,
)

from duolog.config.queue import EXTENSION_PREFIX, READ_ONLY_ATTRIBUTES, SETTABLE_ATTRIBUTES
from duolog.sqs_api.validation.attributes import TRACE_HEADER
from duolog.wire.sqs import messages
from duolog.wire.sqs.apis import ACTIONS, API_VERSION, TARGETS
from duolog.wire.sqs.enumerations import MESSAGE_SYSTEM_ATTRIBUTES
from duolog.wire.sqs.errors import FAULTS
from duolog.wire.sqs.messages.shape import Integer, Long

SCALARS: dict[str, Any] = {
    "string": str,
    "integer": Integer,
    "long": Long,
    "boolean": bool,
    "blob": bytes,
}
REQUIRED_BUT_LEFT_OUT_WHEN_EMPTY = {"Successful", "Failed"}


def python_type(shape: ModelShape) -> Any:
    match shape.type_name:
        case "list":
            return list[python_type(shape.member)]  # type: ignore[misc]
        case "map":
            assert shape.key.type_name == "string"
            return dict[str, python_type(shape.value)]  # type: ignore[misc]
        case "structure":
            return getattr(messages, shape.name)
        case scalar:
            return SCALARS[scalar]


def test_the_actions_are_those_of_the_model() -> None:
    assert sorted(ACTIONS) == OPERATIONS
    assert len(ACTIONS) >= 23
    assert JSON_MODEL.api_version == API_VERSION


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_action_is_asked_and_answered_with_the_model_s_shapes(name: str) -> None:
    operation, action = JSON_MODEL.operation_model(name), ACTIONS[name]
    output = operation.output_shape
    assert action.request.__name__ == operation.input_shape.name
    assert (action.result and action.result.__name__) == (output and output.name)
    target = f"{JSON_MODEL.metadata['targetPrefix']}.{name}"
    assert TARGETS[target.encode()] is action


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_has_the_model_s_members(name: str) -> None:
    shape = JSON_MODEL.shape_for(name)
    fields = {each.encode_name: each for each in msgspec.structs.fields(getattr(messages, name))}
    assert set(fields) == set(shape.members)
    for member, member_shape in shape.members.items():
        field = fields[member]
        expected = python_type(member_shape)
        if member in shape.required_members:
            assert field.type == expected, member
            assert field.required or member in REQUIRED_BUT_LEFT_OUT_WHEN_EMPTY, member
        else:
            assert field.type == expected | None, member
            assert field.default is None, member


def test_there_are_no_structures_but_the_model_s() -> None:
    assert sorted(set(messages.__all__) - {"Shape"}) == STRUCTURES


def test_every_enumerated_name_is_known() -> None:
    ours = {name for name in SETTABLE_ATTRIBUTES if name.startswith(EXTENSION_PREFIX)}
    assert {
        "MessageSystemAttributeName": MESSAGE_SYSTEM_ATTRIBUTES,
        "MessageSystemAttributeNameForSends": {TRACE_HEADER},
        "QueueAttributeName": {"All", *READ_ONLY_ATTRIBUTES, *SETTABLE_ATTRIBUTES} - ours,
    } == ENUMERATIONS


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_known_with_its_code_and_status(name: str) -> None:
    fault = FAULTS[name]
    assert fault.json_type == f"com.amazonaws.sqs#{name}"
    assert fault.message
    trait = QUERY_MODEL.shape_for(name).metadata.get("error")
    if trait is not None:
        assert fault.query_code == trait["code"]
        assert fault.http_status == trait["httpStatusCode"]
        assert fault.sender == trait["senderFault"]
    else:
        assert fault.sender
        assert 400 <= fault.http_status < 500


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_error_that_an_action_can_give_is_known(name: str) -> None:
    assert {shape.name for shape in JSON_MODEL.operation_model(name).error_shapes} <= set(FAULTS)
