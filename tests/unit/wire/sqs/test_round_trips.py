"""What botocore sends is what is understood, and what is answered is what botocore reads."""

from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.wire.sqs.generated import values_of, without_empty
from tests.unit.wire.sqs.public_model import JSON_MODEL, OPERATIONS, QUERY_MODEL

from duolog.wire.sqs import json_protocol, query_protocol
from duolog.wire.sqs.apis import ACTIONS, Action
from duolog.wire.sqs.messages import Shape

ANSWERING = [name for name in OPERATIONS if ACTIONS[name].result is not None]
SILENT = [name for name in OPERATIONS if ACTIONS[name].result is None]

# What is nested in what is the same in every example, so a few of each are enough.
few = settings(max_examples=15)


def serialized(protocol: str, model: ServiceModel, name: str, values: Any) -> dict[str, Any]:
    serializer = create_serializer(protocol, include_validation=False)
    return serializer.serialize_to_request(values, model.operation_model(name))


def parsed(protocol: str, model: ServiceModel, name: str, status: int, body: bytes) -> Any:
    response = {"status_code": status, "headers": {}, "body": body}
    return create_parser(protocol).parse(response, model.operation_model(name).output_shape)


def struct_of(action_type: type[Shape], values: Any) -> Shape:
    return msgspec.convert(msgspec.to_builtins(values), action_type)


def result_of(action: Action, values: Any) -> Shape:
    assert action.result is not None
    return struct_of(action.result, values)


def drawn(data: st.DataObject, model: ServiceModel, name: str, *, output: bool) -> Any:
    operation = model.operation_model(name)
    return data.draw(values_of(operation.output_shape if output else operation.input_shape))


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
@few
def test_a_request_in_json_is_understood(name: str, data: st.DataObject) -> None:
    values = drawn(data, JSON_MODEL, name, output=False)
    request = serialized("json", JSON_MODEL, name, values)
    decoded = json_protocol.decode(ACTIONS[name], request["body"])
    assert decoded == struct_of(ACTIONS[name].request, values)


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
@few
def test_a_request_in_query_is_understood(name: str, data: st.DataObject) -> None:
    values = drawn(data, QUERY_MODEL, name, output=False)
    # A map that is required and empty leaves no trace in a form, and is then missing.
    shape = QUERY_MODEL.operation_model(name).input_shape
    assume(all(values[required] != {} for required in shape.required_members))
    request = serialized("query", QUERY_MODEL, name, values)
    form = query_protocol.parse_form(urlencode(request["body"]).encode())
    assert form["Action"] == name
    decoded = query_protocol.decode(ACTIONS[name], form)
    expected = struct_of(ACTIONS[name].request, values)
    assert without_empty(msgspec.to_builtins(decoded)) == without_empty(
        msgspec.to_builtins(expected)
    )


@pytest.mark.parametrize("name", ANSWERING)
@given(data=st.data())
@few
def test_an_answer_in_json_is_read(name: str, data: st.DataObject) -> None:
    values = drawn(data, JSON_MODEL, name, output=True)
    answer = parsed(
        "json", JSON_MODEL, name, 200, json_protocol.encode(result_of(ACTIONS[name], values))
    )
    del answer["ResponseMetadata"]
    if name.endswith("Batch"):
        values = {key: value for key, value in values.items() if value != []}
    assert answer == values


@pytest.mark.parametrize("name", ANSWERING)
@given(data=st.data())
@few
def test_an_answer_in_query_is_read(name: str, data: st.DataObject) -> None:
    values = drawn(data, QUERY_MODEL, name, output=True)
    body = query_protocol.encode(ACTIONS[name], result_of(ACTIONS[name], values), b"an-id")
    answer = parsed("query", QUERY_MODEL, name, 200, body)
    assert answer.pop("ResponseMetadata")["RequestId"] == "an-id"
    assert without_empty(answer) == without_empty(values)


@pytest.mark.parametrize("name", SILENT)
def test_success_with_nothing_to_say_is_read(name: str) -> None:
    in_json = parsed("json", JSON_MODEL, name, 200, json_protocol.encode(None))
    in_query = parsed(
        "query", QUERY_MODEL, name, 200, query_protocol.encode(ACTIONS[name], None, b"an-id")
    )
    del in_json["ResponseMetadata"]
    assert in_query.pop("ResponseMetadata")["RequestId"] == "an-id"
    assert in_json == in_query == {}
